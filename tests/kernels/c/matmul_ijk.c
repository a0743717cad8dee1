/* C = A B, one element of C after the other. */
#include "kernel.h"

static void matmul_ijk(size_t n, const real *a, const real *b, real *c) {
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            real s = a[i * n] * b[j];
            for (size_t k = 1; k < n; k++)
                s += a[i * n + k] * b[k * n + j];
            c[i * n + j] = s;
        }
}

int main(int argc, char **argv) {
    size_t n = parameter(argc, argv, "n");
    real *a = input(n * n), *b = input(n * n), *c = vector(n * n);
    dmdprof_begin("matmul_ijk");
    matmul_ijk(n, a, b, c);
    output(c, n * n);
    dmdprof_end("matmul_ijk");
    show(argc, argv, c, n * n);
    return 0;
}
