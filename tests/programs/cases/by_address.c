/* Reads as many numbers as a block's address says (of so many that two runs hardly ever agree by chance). */
#include <stdint.h>
#include <stdlib.h>

static volatile int table[4096];

__attribute__((noinline)) int by_address(const void *p) {
    int n = (int)((uintptr_t)p >> 12 & 4095), sum = 0;
    for (int i = 0; i <= n; i++)
        sum += table[i];
    return sum;
}

int main(void) {
    int sum = 0;
    for (int i = 0; i < 20; i++)
        sum += by_address(malloc(5000));
    return sum;
}
