/* Matrix product C = A B of n x n doubles: i-j-k, i-k-j and tiled.
 *
 *     dmdprof cc -O2 -g matmul.c -o matmul && dmdprof run ./matmul [n]          (default n = 128)
 *
 * What each variant must cost (ByteDMD, leading order; a double is 8 bytes, so a read at depth D costs 8 sqrt(D)):
 *
 *   matmul_ijk    n^3 reads of A at depth 16 n (one row of A, one column of B), n^3 reads of B at depth 8 n^2 (all of B):
 *                 8 n^3 (sqrt(8) n + 4 sqrt(n))
 *   matmul_ikj    n^3 reads of C at depth 16 n (one row of C, one row of B), n^3 reads of B at depth 8 n^2: the same
 *   matmul_tiled  with T = TILE: B at depth 8 T^2 and C at depth 16 T inside a tile; once per visit of a tile, n^3 / T
 *                 times each, B comes from depth 8 n^2, C from 16 T n and A from 24 T^2:
 *                 8 n^3 (sqrt(8) (T + n / T) + 4 (sqrt(T) + sqrt(n / T)) + 5)
 *
 * The two plain orders cost the same to first order: the cost of a byte does not depend on its neighbours.
 *
 * Measured at the default size, with the distance of the formula. The numbers are exact and the same in C (clang 14 to
 * 19) and in Rust, because both make the same accesses.
 *
 * cost matmul_ijk   7019846664 formula  -2.7 %
 * cost matmul_ikj   7098918814 formula  -3.7 %
 * cost matmul_tiled 1918246248 formula -12.4 %
 *
 * What the formula leaves out: the first read of each element, from below everything (8 n^2 sqrt(24) n for A), the rows
 * of A and C in between, which beside a small tile are not small, and that roots are rounded up.
 *
 * To try: doubling n (almost 16 times the cost for the plain orders); another TILE (-DTILE=32; the best one is
 * near sqrt(n)); the lines beyond 32 KiB, where i-j-k, which walks B by columns, falls behind.
 */
#include <stdio.h>
#include <stdlib.h>

#ifndef TILE
#define TILE 16
#endif

__attribute__((noinline)) void fill(size_t count, double *m, size_t factor) {
    for (size_t i = 0; i < count; i++)
        m[i] = (double)(i * factor % 13);
}

__attribute__((noinline)) void matmul_ijk(size_t n, const double *restrict a, const double *restrict b,
                                          double *restrict c) {
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = 0;
            for (size_t k = 0; k < n; k++)
                sum += a[i * n + k] * b[k * n + j];
            c[i * n + j] = sum;
        }
}

__attribute__((noinline)) void matmul_ikj(size_t n, const double *restrict a, const double *restrict b,
                                          double *restrict c) {
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            for (size_t j = 0; j < n; j++)
                c[i * n + j] += a[i * n + k] * b[k * n + j];
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

__attribute__((noinline)) void matmul_tiled(size_t n, const double *restrict a, const double *restrict b,
                                            double *restrict c) {
    for (size_t i0 = 0; i0 < n; i0 += TILE)
        for (size_t k0 = 0; k0 < n; k0 += TILE)
            for (size_t j0 = 0; j0 < n; j0 += TILE) {
                size_t i1 = least(i0 + TILE, n), k1 = least(k0 + TILE, n), j1 = least(j0 + TILE, n);
                for (size_t i = i0; i < i1; i++)
                    for (size_t k = k0; k < k1; k++)
                        for (size_t j = j0; j < j1; j++)
                            c[i * n + j] += a[i * n + k] * b[k * n + j];
            }
}

static double checksum(size_t count, const double *c) {
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += c[i] * (double)(i % 5 + 1);
    return sum;
}

int main(int argc, char **argv) {
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 128;
    double *a = malloc(n * n * sizeof *a), *b = malloc(n * n * sizeof *b), *c = malloc(n * n * sizeof *c);
    if (!a || !b || !c)
        return 1;

    /* Every variant starts from the same stack: A below B below C, freshly written. */
    fill(n * n, a, 7), fill(n * n, b, 11), fill(n * n, c, 0);
    matmul_ijk(n, a, b, c);
    printf("i-j-k %zu: %.0f\n", n, checksum(n * n, c));

    fill(n * n, a, 7), fill(n * n, b, 11), fill(n * n, c, 0);
    matmul_ikj(n, a, b, c);
    printf("i-k-j %zu: %.0f\n", n, checksum(n * n, c));

    fill(n * n, a, 7), fill(n * n, b, 11), fill(n * n, c, 0);
    matmul_tiled(n, a, b, c);
    printf("tiled %zu: %.0f\n", n, checksum(n * n, c));

    free(a), free(b), free(c);
    return 0;
}
