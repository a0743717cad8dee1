// What the kernels here share: sizes for measuring and (SMALL) for a quick check, inputs, and a sum over the results.
#include "../pairs/pair.h"

#ifdef SMALL
#define SIZE(measured, small) (small)
#else
#define SIZE(measured, small) (measured)
#endif
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

// Whole numbers from 0 to 15: sums of their products are exact in any order.
#define FILL(array, salt) fill((double *)(array), sizeof(array) / sizeof(double), salt)

static inline void fill(double *p, size_t n, uint32_t salt) {
    for (size_t i = 0; i < n; i++) p[i] = (uint32_t)(i + 1) * (2654435761u + 2 * salt) >> 28;
}

// Adds the bits of all elements, each times a number of its place.
#define RESULT(array) result(array, sizeof(array))

static uint32_t results;

static inline void result(const void *p, size_t bytes) {
    uint32_t sum = results * 31;
    for (size_t i = 0; i < bytes / 4; i++) {
        uint32_t word;
        memcpy(&word, (const char *)p + 4 * i, 4);
        sum += word * (uint32_t)(2 * i + 1);
    }
    results = sum;
}

static inline int print_results(void) { return printf("%08x\n", results) < 0; }
