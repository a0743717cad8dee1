/* Growth by realloc: a block of FIRST words doubles GROWTHS times; a second block, allocated before each growth, is in
 * the way, so that the allocator has to move sooner or later. Then the block shrinks to one word.
 * Live before the kernel: the hot word.
 * realloc is free of charge and identities travel: after each growth the old words lie below the second block's word and
 * the new words, wherever the block now is. After the shrink the tail is gone: above the hot word remain the GROWTHS
 * words of the second blocks and one of the block. (Only with hints: without them the model does not say.) */
#include "truth.h"

#ifndef FIRST
#define FIRST 4
#endif
#ifndef GROWTHS
#define GROWTHS 6
#endif

NOINLINE uint64_t kernel(word *hot) {
    uint64_t sum = 0;
    size_t size = FIRST;
    word *block = must(malloc(8 * size));
    for (size_t i = 0; i < size; i++)
        block[i] = i;
    for (size_t growth = 0; growth < GROWTHS; growth++) {
        word *in_the_way = must(malloc(8));
        in_the_way[0] = growth;
        block = must(realloc((void *)block, 16 * size));
        for (size_t i = size; i < 2 * size; i++)
            block[i] = i;
        size *= 2;
        for (size_t i = 0; i < size; i++)
            sum += block[i];
    }
    block = must(realloc((void *)block, 8));
    sum += *hot;
    sum += block[0];
    return sum;
}

int main(void) {
    word *hot = must(malloc(8));
    *hot = 7;
    uint64_t sum = kernel(hot);
    printf("%" PRIu64 "\n", sum);
    return 0;
}
