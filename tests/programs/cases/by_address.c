/* Reads as many numbers as the address of a block says: the same in every run unless addresses are random. */
#include <stdint.h>
#include <stdlib.h>

static volatile int table[64];

__attribute__((noinline)) int by_address(const void *p) {
    int n = (int)((uintptr_t)p >> 12 & 63), sum = 0;
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
