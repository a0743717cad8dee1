/* A function with another one inlined, on lines of their own. */
#include <stdio.h>

static volatile long cells[1000];

static inline __attribute__((always_inline)) long inner(int i) {
    return cells[i];
}

__attribute__((noinline)) long outer(void) {
    long sum = 0;
    for (int i = 0; i < 1000; i++)
        sum += inner(i);
    return sum;
}

int main(void) {
    printf("%ld\n", outer());
    return 0;
}
