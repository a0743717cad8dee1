/* Cyclic scan: N words, PASSES passes, always ascending.
 * Live before the kernel: the N words, word 0 at the bottom.
 * Every read finds all other words above it: depths 8N-7 .. 8N, cost S(8N) - S(8N-8) each. */
#include "truth.h"

#ifndef N
#define N 256
#endif
#ifndef PASSES
#define PASSES 4
#endif

NOINLINE uint64_t kernel(word *words) {
    uint64_t sum = 0;
    for (size_t pass = 0; pass < PASSES; pass++)
        for (size_t i = 0; i < N; i++) {
#ifdef MUTATE
            /* One read out of order: the check must notice. */
            if (pass == 1 && i == N / 2)
                sum += words[0];
#endif
            sum += words[i];
        }
    return sum;
}

int main(void) {
    word *words = must(malloc(8 * N));
    fill(words, N);
    uint64_t sum = kernel(words);
    printf("%" PRIu64 "\n", sum);
    return 0;
}
