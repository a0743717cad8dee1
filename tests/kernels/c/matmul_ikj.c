/* C = A B, a row of C from the rows of B; a first contribution is stored, not added. */
#include "kernel.h"

static void matmul_ikj(size_t n, const real *a, const real *b, real *c) {
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            for (size_t j = 0; j < n; j++) {
                real p = a[i * n + k] * b[k * n + j];
                c[i * n + j] = k == 0 ? p : c[i * n + j] + p;
            }
}

int main(int argc, char **argv) {
    size_t n = parameter(argc, argv, "n");
    real *a = input(n * n), *b = input(n * n), *c = vector(n * n);
    dmdprof_begin("matmul_ikj");
    matmul_ikj(n, a, b, c);
    output(c, n * n);
    dmdprof_end("matmul_ikj");
    show(argc, argv, c, n * n);
    return 0;
}
