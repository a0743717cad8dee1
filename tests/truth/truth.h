/* Common to the truth programs.
 *
 * Every element access is volatile, so that each load and store of the source happens exactly once, in order, at its
 * own width, whatever the optimiser does. Sizes are macros, not arguments: reading argv would put bytes on the stack.
 * No program reads or writes memory before main, so the stack is empty when main starts, and each program's header
 * says what its kernel finds on it. Results go through printf after the kernel has returned. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

typedef volatile uint64_t word;

/* Stores 0, 1, 2, ... in ascending order: word 0 ends up at the bottom, word count - 1 on top. */
static NOINLINE __attribute__((unused)) void fill(word *words, size_t count) {
    for (size_t i = 0; i < count; i++)
        words[i] = i;
}

static inline void *must(void *p) {
    if (!p)
        abort();
    return p;
}
