/* Atomic read-modify-write over N words, PASSES passes, ascending: one load, then one store of the same word.
 * Live before the kernel: the N words, word 0 at the bottom.
 * As in the cyclic scan every word is read at depths 8N-7 .. 8N; as many bytes are written as read. */
#include "truth.h"

#ifndef N
#define N 128
#endif
#ifndef PASSES
#define PASSES 3
#endif

NOINLINE uint64_t kernel(uint64_t *words) {
    uint64_t sum = 0;
    for (size_t pass = 0; pass < PASSES; pass++)
        for (size_t i = 0; i < N; i++)
            sum += __atomic_fetch_add(&words[i], pass + 1, __ATOMIC_RELAXED);
    return sum;
}

int main(void) {
    uint64_t *words = must(malloc(8 * N));
    fill(words, N);
    uint64_t sum = kernel(words);
    printf("%" PRIu64 "\n", sum);
    return 0;
}
