/* Copy: memcpy of N bytes (a multiple of 8), then the copy read back in words, ascending.
 * Live before the kernel: the N source bytes, written as words, ascending.
 * The copy reads and writes blocks of 64 bytes (the last may be shorter) in address order: block k is read below the
 * rest of the source and the k blocks already moved and copied. With N = 64 B: S(2N - 64) - S(N - 64) for the copy. */
#include "truth.h"

#ifndef N
#define N 4096
#endif

NOINLINE uint64_t kernel(uint64_t *to, uint64_t *from) {
    uint64_t sum = 0;
    memcpy(to, from, N);
    word *copy = to;
    for (size_t i = 0; i < N / 8; i++)
        sum += copy[i];
    return sum;
}

int main(void) {
    uint64_t *from = must(malloc(N)), *to = must(malloc(N));
    fill(from, N / 8);
    uint64_t sum = kernel(to, from);
    printf("%" PRIu64 "\n", sum);
    return 0;
}
