/* Zigzag scan: N words, PASSES passes, descending, ascending, descending, ...
 * Live before the kernel: the N words, word 0 at the bottom.
 * Every pass finds the words in the order of the stack from the top: depths 1 .. 8N once each, cost S(8N) per pass. */
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
        if (pass % 2 == 0)
            for (size_t i = N; i-- > 0;)
                sum += words[i];
        else
            for (size_t i = 0; i < N; i++)
                sum += words[i];
    return sum;
}

int main(void) {
    word *words = must(malloc(8 * N));
    fill(words, N);
    uint64_t sum = kernel(words);
    printf("%" PRIu64 "\n", sum);
    return 0;
}
