/* 5-point stencil (Jacobi sweeps) on an n x n grid of doubles: by rows, by columns, in square blocks.
 *
 *     dmdprof cc -O2 -g stencil.c -o stencil && dmdprof run ./stencil [n]          (default n = 512; 2 sweeps each)
 *
 * What it must cost (ByteDMD, leading order, per grid point; a double read at depth D costs 8 sqrt(D)):
 *
 *   - the neighbour ahead (south when sweeping by rows) comes from the sweep before: both grids were touched in
 *     between, 16 n^2 bytes: 8 * 4 n. No order of a single sweep can avoid this term. Only the first sweep is cheaper:
 *     it finds the grid as fill left it, at a depth of 8 n^2 (1 + y) in row y n (what was written after it or read
 *     since, and the result so far), which is 8 * 3.45 n on average by rows and in blocks; by columns, as in
 *     transpose.c, 8 * 3.08 n.
 *   - the neighbours one line away (north, and east when it is first needed in this line): three lines read and one
 *     written since, 32 n bytes: 2 * 8 sqrt(32 n).
 *   - the others were used one or two points ago: a few dozen bytes.
 *
 *   sweep_rows     8 n^2 (7.45 n + 4 sqrt(32 n)) for both sweeps
 *   sweep_columns  8 n^2 (7.08 n + 4 sqrt(32 n)): from the second sweep on, columns cost what rows do, by symmetry
 *   sweep_blocks   8 n^2 (7.45 n + 4 sqrt(32 BLOCK)): only the second term shrinks, so blocks gain little: the way to a
 *                  lower cost is to fuse sweeps, not to reorder one
 *
 * Measured at the default size, with the distance of the formula. The numbers are exact; those in C are the same with
 * clang 14 to 19.
 *
 * cost sweep_rows    9103450307 formula -0.3 %
 * cost sweep_columns 8712738754 formula -0.4 %
 * cost sweep_blocks  8429123038 formula -1.9 %
 *
 * By columns, C and Rust make the same accesses. By rows and in blocks both read two points at a time, and Rust, which
 * has bounds to check, the last two of a line singly: that moves one part in 10^5.
 *
 * To try: the lines beyond 32 KiB, where the sweep by columns uses one double of each line it touches and falls far
 * behind; a fourth variant that does both sweeps on a block before moving on.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#define BLOCK 32
#define SWEEPS 2

__attribute__((noinline)) void fill(size_t n, double *grid) {
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            grid[i * n + j] = (double)((i * 31 + j * 17) % 64);
}

/* A macro, so that the accesses belong to the sweep and each sweep has its row in the report. */
#define POINT(n, at) (0.25 * (at)[0] + 0.1875 * ((at)[-(ptrdiff_t)(n)] + (at)[-1] + (at)[1] + (at)[n]))

__attribute__((noinline)) void sweep_rows(size_t n, const double *restrict from, double *restrict to) {
    for (size_t i = 1; i < n - 1; i++)
        for (size_t j = 1; j < n - 1; j++)
            to[i * n + j] = POINT(n, from + i * n + j);
}

__attribute__((noinline)) void sweep_columns(size_t n, const double *restrict from, double *restrict to) {
    for (size_t j = 1; j < n - 1; j++)
        for (size_t i = 1; i < n - 1; i++)
            to[i * n + j] = POINT(n, from + i * n + j);
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

__attribute__((noinline)) void sweep_blocks(size_t n, const double *restrict from, double *restrict to) {
    for (size_t i0 = 1; i0 < n - 1; i0 += BLOCK)
        for (size_t j0 = 1; j0 < n - 1; j0 += BLOCK)
            for (size_t i = i0, i1 = least(i0 + BLOCK, n - 1); i < i1; i++)
                for (size_t j = j0, j1 = least(j0 + BLOCK, n - 1); j < j1; j++)
                    to[i * n + j] = POINT(n, from + i * n + j);
}

static void report(const char *name, size_t n, const double *grid) {
    double sum = 0;
    for (size_t i = 0; i < n * n; i++)
        sum += grid[i];
    printf("%s %zu: %.3f\n", name, n, sum);
}

int main(int argc, char **argv) {
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 512;
    double *u = malloc(n * n * sizeof *u), *v = malloc(n * n * sizeof *v);
    if (n < 3 || !u || !v)
        return 1;

    /* Every variant starts from the same stack: the target grid below the source grid, freshly written. */
    fill(n, v), fill(n, u);
    for (int sweep = 0; sweep < SWEEPS; sweep += 2)
        sweep_rows(n, u, v), sweep_rows(n, v, u);
    report("rows", n, u);

    fill(n, v), fill(n, u);
    for (int sweep = 0; sweep < SWEEPS; sweep += 2)
        sweep_columns(n, u, v), sweep_columns(n, v, u);
    report("columns", n, u);

    fill(n, v), fill(n, u);
    for (int sweep = 0; sweep < SWEEPS; sweep += 2)
        sweep_blocks(n, u, v), sweep_blocks(n, v, u);
    report("blocks", n, u);

    free(u), free(v);
    return 0;
}
