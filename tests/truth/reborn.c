/* Free and allocate again: ROUNDS times a block of M words is allocated, written, read and freed, and a hot word is read.
 * Live before the kernel: the hot word.
 * Allocators hand out the same address again, or not; the depths must not tell the difference. Every word of the block is
 * read at depths 8M-7 .. 8M. The hot word is read after the free: at depth 1 .. 8 if the freed bytes left the stack
 * (hints), at 8M+1 .. 8M+8 if nothing leaves (none).
 * With FRESH, the new block's first word is read before it is written: the new life of a recycled address is another
 * value, so with hints this is a cold read, below the only live word: depths 9 .. 16. */
#include "truth.h"

#ifndef M
#define M 32
#endif
#ifndef ROUNDS
#define ROUNDS 5
#endif

NOINLINE uint64_t kernel(word *hot) {
    uint64_t sum = 0;
    for (size_t round = 0; round < ROUNDS; round++) {
        word *block = must(malloc(8 * M));
#ifdef FRESH
        (void)block[0];
#endif
        for (size_t i = 0; i < M; i++)
            block[i] = i + round;
        for (size_t i = 0; i < M; i++)
            sum += block[i];
        free((void *)block);
        sum += *hot;
    }
    return sum;
}

int main(void) {
    word *hot = must(malloc(8));
    *hot = 7;
    uint64_t sum = kernel(hot);
    printf("%" PRIu64 "\n", sum);
    return 0;
}
