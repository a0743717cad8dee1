/* A stack of arrays: N blocks are written in order, then read and freed in reverse, ROUNDS times.

   `drain` finds each block on top of the live bytes, so nothing is read deeper than 4096 bytes. When it comes to the
   block that was written j blocks before the last, j blocks have been read and freed, and their places are free above
   it: each of its bytes needs more than 4096 j bytes of memory, and at most 4096 (j + 1). So a memory of m blocks
   fetches N - m of them in each round. The next round's blocks fill the places that are free. */
#include "blocks.h"
#include <stdio.h>
#ifndef ROUNDS
#define ROUNDS 1
#endif

static APART long drain(struct block *top) {
    long sum = 0;
    while (top) {
        struct block *below = top->below;
        sum += sum_of(top);
        free(top);
        top = below;
    }
    return sum;
}

int main(void) {
    long sum = 0;
    for (int round = 0; round < ROUNDS; round++) {
        struct block *top = NULL;
        for (int i = 0; i < N; i++) top = filled(top, i);
        sum += drain(top);
    }
    printf("%ld\n", sum);
    return 0;
}
