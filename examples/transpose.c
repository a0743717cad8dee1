/* Transpose of an n x n matrix of doubles: by rows of the result, and in square blocks.
 *
 *     dmdprof cc -O2 -g transpose.c -o transpose && dmdprof run ./transpose [n]          (default n = 512)
 *
 * What it must cost (ByteDMD, leading order): each of the 8 n^2 bytes is read exactly once, at a depth of
 * 8 n^2 ((1 - x)(1 - y) + 2 y) for element (x n, y n) of the source: what was written after it and is not yet read, what
 * was read before it, and the result so far. The mean root of that bracket is about 1.09, so both variants cost about
 * 8 n^2 * 1.09 sqrt(8) n. Blocking does not change it: with nothing read twice, no order of the reads saves bytes.
 *
 * Measured at the default size, with the distance of the formula. The numbers are exact and the same in C (clang 14 to
 * 19) and in Rust, because both make the same accesses.
 *
 * cost transpose_naive   3325975883 formula -0.5 %
 * cost transpose_blocked 3338547123 formula -0.8 %
 *
 * The difference that everybody knows is a difference of lines: beyond 32 KiB, transpose_naive walks down a column and
 * finds each line again, for its second to eighth double, only after n lines of source and n / 8 of result, while
 * transpose_blocked finds it again after BLOCK lines (and BLOCK / 8 of result).
 *
 * To try: compare the lines of the two functions; other values of BLOCK.
 */
#include <stdio.h>
#include <stdlib.h>

#define BLOCK 16

__attribute__((noinline)) void fill(size_t count, double *m) {
    for (size_t i = 0; i < count; i++)
        m[i] = (double)(i * 7 % 1021);
}

__attribute__((noinline)) void transpose_naive(size_t n, const double *restrict from, double *restrict to) {
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            to[i * n + j] = from[j * n + i];
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

__attribute__((noinline)) void transpose_blocked(size_t n, const double *restrict from, double *restrict to) {
    for (size_t i0 = 0; i0 < n; i0 += BLOCK)
        for (size_t j0 = 0; j0 < n; j0 += BLOCK)
            for (size_t i = i0, i1 = least(i0 + BLOCK, n); i < i1; i++)
                for (size_t j = j0, j1 = least(j0 + BLOCK, n); j < j1; j++)
                    to[i * n + j] = from[j * n + i];
}

static void report(const char *name, size_t n, const double *m) {
    double sum = 0;
    for (size_t i = 0; i < n * n; i++)
        sum += m[i] * (double)(i % 7 + 1);
    printf("%s %zu: %.0f\n", name, n, sum);
}

int main(int argc, char **argv) {
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 512;
    double *from = malloc(n * n * sizeof *from), *to = malloc(n * n * sizeof *to);
    if (!from || !to)
        return 1;

    /* Both variants start from the same stack: the result below the source, freshly written. */
    fill(n * n, to), fill(n * n, from);
    transpose_naive(n, from, to);
    report("naive", n, to);

    fill(n * n, to), fill(n * n, from);
    transpose_blocked(n, from, to);
    report("blocked", n, to);

    free(from), free(to);
    return 0;
}
