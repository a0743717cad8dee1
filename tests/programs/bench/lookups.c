/* Benchmark: cross sections of a material at random energies, as in Monte Carlo transport: a binary search in a sorted
 * grid, then six numbers of each of the material's nuclides (default 200000 lookups; 2^19 energies, 32 nuclides).
 * Compile with clang -O2 -fno-vectorize -fno-slp-vectorize. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define ENERGIES ((size_t)1 << 19)
#define NUCLIDES 32
#define POINTS ((size_t)1 << 12)
#define MATERIALS 4

struct point {
    double energy, sections[5];
};

/* The last energy that is not above the one looked for. */
__attribute__((noinline)) size_t find(const double *grid, double energy) {
    size_t low = 0, high = ENERGIES;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (grid[middle] > energy)
            high = middle;
        else
            low = middle;
    }
    return low;
}

__attribute__((noinline)) void section(const struct point *nuclide, size_t at, double energy, double density, double *sums) {
    const struct point *low = nuclide + at, *high = low + 1;
    double part = (high->energy - energy) / (high->energy - low->energy);
    for (int k = 0; k < 5; k++)
        sums[k] += density * (high->sections[k] - part * (high->sections[k] - low->sections[k]));
}

int main(int argc, char **argv) {
    static const int of_material[MATERIALS] = {NUCLIDES, 12, 4, 21};
    long lookups = argc > 1 ? atol(argv[1]) : 200000;
    double *grid = malloc(ENERGIES * sizeof *grid), total = 0;
    struct point *points = malloc(NUCLIDES * POINTS * sizeof *points);
    if (!grid || !points)
        return 1;
    for (size_t i = 0; i < ENERGIES; i++)
        grid[i] = (double)i / ENERGIES;
    for (size_t i = 0; i < NUCLIDES * POINTS; i++) {
        points[i].energy = (double)(i % POINTS) / POINTS;
        for (int k = 0; k < 5; k++)
            points[i].sections[k] = (double)((i * 31 + (size_t)k * 7) % 64);
    }
    uint64_t x = 1;
    for (long i = 0; i < lookups; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        double energy = (double)(x >> 11) / (double)((uint64_t)1 << 53) * (1 - 2.0 / POINTS), sums[5] = {0};
        size_t at = find(grid, energy) / (ENERGIES / POINTS);
        int nuclides = of_material[x % MATERIALS];
        for (int n = 0; n < nuclides; n++)
            section(points + (size_t)n * POINTS, at, energy, 1.0 / (n + 1), sums);
        for (int k = 0; k < 5; k++)
            total += sums[k];
    }
    printf("lookups %ld: %.6f\n", lookups, total);
    free(grid), free(points);
    return 0;
}
