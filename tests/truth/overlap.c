/* Overlapping move: memmove of N bytes up by SHIFT bytes (both multiples of 8), then everything read back, ascending.
 * Live before the kernel: the N source bytes, written as words, ascending.
 * The model is in address order, in blocks of 64 bytes, each read and then written, whatever the C library does: a
 * written byte that overlaps the source is taken from its old place and put on top. */
#include "truth.h"

#ifndef N
#define N 1000
#endif
#ifndef SHIFT
#define SHIFT 24
#endif

NOINLINE uint64_t kernel(uint64_t *base) {
    uint64_t sum = 0;
    memmove(base + SHIFT / 8, base, N);
    word *words = base;
    for (size_t i = 0; i < (N + SHIFT) / 8; i++)
        sum += words[i];
    return sum;
}

int main(void) {
    uint64_t *base = must(malloc(N + SHIFT));
    fill(base, N / 8);
    uint64_t sum = kernel(base);
    printf("%" PRIu64 "\n", sum);
    return 0;
}
