/* C = A B in t x t tiles; a first contribution is stored, not added. */
#include "kernel.h"

static void tile(size_t n, size_t t, const real *a, const real *b, real *c, size_t bi, size_t bj, size_t bk) {
    for (size_t i = bi; i < bi + t; i++)
        for (size_t j = bj; j < bj + t; j++)
            for (size_t k = bk; k < bk + t; k++) {
                real p = a[i * n + k] * b[k * n + j];
                c[i * n + j] = k == 0 ? p : c[i * n + j] + p;
            }
}

static void matmul_tiled(size_t n, size_t t, const real *a, const real *b, real *c) {
    for (size_t bi = 0; bi < n; bi += t)
        for (size_t bj = 0; bj < n; bj += t)
            for (size_t bk = 0; bk < n; bk += t)
                tile(n, t, a, b, c, bi, bj, bk);
}

int main(int argc, char **argv) {
    size_t n = parameter(argc, argv, "n");
    size_t t = parameter(argc, argv, "t");
    real *a = input(n * n), *b = input(n * n), *c = vector(n * n);
    dmdprof_begin("matmul_tiled");
    matmul_tiled(n, t, a, b, c);
    output(c, n * n);
    dmdprof_end("matmul_tiled");
    show(argc, argv, c, n * n);
    return 0;
}
