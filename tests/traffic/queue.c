/* A work queue of four blocks: STEPS times a fifth one is put in, and the oldest is read and freed; then the four are
   taken out.

   `work` reads the oldest of five blocks: it lies below four live ones, and nothing is free above it, as each new block
   fills the place that the one before left. So depth and capacity are the same, above 4 blocks and up to 5.

   `finish` reads the oldest of four. The place of the block that `work` freed last is free on top: the block is 4 blocks
   deep, and needs 5. It takes that place, and leaves it again when it is freed. So the next ones, which are 3, 2 and 1
   blocks deep, need 4, 3 and 2. */
#include "blocks.h"
#include <stdio.h>

static inline long taken(struct block *block) {
    long sum = (block->below == NULL) + sum_of(block);
    free(block);
    return sum;
}

static APART long work(struct block *oldest) {
    return taken(oldest);
}

static APART long finish(struct block *a, struct block *b, struct block *c, struct block *d) {
    long sum = taken(a);
    sum += taken(b);
    sum += taken(c);
    return sum + taken(d);
}

int main(void) {
    struct block *a = filled(NULL, 0), *b = filled(NULL, 1), *c = filled(NULL, 2), *d = filled(NULL, 3);
    long sum = 0;
    for (int step = 0; step < STEPS; step++) {
        struct block *newest = filled(NULL, step);
        sum += work(a);
        a = b, b = c, c = d, d = newest;
    }
    printf("%ld\n", sum + finish(a, b, c, d));
    return 0;
}
