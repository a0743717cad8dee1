// What the kernels in C and C++ share: memory that is checked, and numbers that are the same in every run.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((unused)) static void *memory(size_t bytes) {
    void *block = calloc(1, bytes);
    if (!block) abort();
    return block;
}

static uint32_t random_state = 2463534242u;

__attribute__((unused)) static uint32_t random_number(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    random_state ^= random_state << 5;
    return random_state;
}

// A random order of 0..n-1.
__attribute__((unused)) static uint32_t *shuffled(uint32_t n) {
    uint32_t *order = (uint32_t *)memory(n * sizeof *order);
    for (uint32_t i = 0; i < n; i++) order[i] = i;
    for (uint32_t i = n; i-- > 1;) {
        uint32_t j = random_number() % (i + 1), t = order[i];
        order[i] = order[j], order[j] = t;
    }
    return order;
}
