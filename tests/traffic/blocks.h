/* Blocks of 4 KiB on lines of their own, each written once, whole. */
#include <stdlib.h>
#define WORDS 512
#define APART __attribute__((noinline))

struct block {
    struct block *below;
    long data[WORDS - 1];
};

static APART struct block *filled(struct block *below, long first) {
    struct block *block = aligned_alloc(64, sizeof *block);
    if (!block) abort();
    block->below = below;
    for (int i = 0; i < WORDS - 1; i++) block->data[i] = first + i;
    return block;
}

static inline long sum_of(const struct block *block) {
    long sum = 0;
    for (int i = 0; i < WORDS - 1; i++) sum += block->data[i];
    return sum;
}
