/* Cholesky factor of A, right-looking, in a copy; the lower triangle is returned row by row. */
#include "kernel.h"

static void cholesky(size_t n, const real *original, real *a) {
    memcpy(a, original, n * n * sizeof *a);
    for (size_t k = 0; k < n; k++) {
        a[k * n + k] = pow(a[k * n + k], 0.5);
        for (size_t i = k + 1; i < n; i++)
            a[i * n + k] = a[i * n + k] / a[k * n + k];
        for (size_t j = k + 1; j < n; j++)
            for (size_t i = j; i < n; i++)
                a[i * n + j] = a[i * n + j] - a[i * n + k] * a[j * n + k];
    }
}

int main(int argc, char **argv) {
    size_t n = parameter(argc, argv, "n");
    real *a = vector(n * n), *factor = vector(n * n);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            a[i * n + j] = i == j ? 2 * n : 1.0 / (1 + i + j);
    declare(a, n * n);
    dmdprof_begin("cholesky");
    cholesky(n, a, factor);
    for (size_t i = 0; i < n; i++)
        output(factor + i * n, i + 1);
    dmdprof_end("cholesky");
    for (size_t i = 0; i < n; i++)
        show(argc, argv, factor + i * n, i + 1);
    return 0;
}
