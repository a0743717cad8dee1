/* LU factors of A without pivoting, in a copy. */
#include "kernel.h"

static void lu(size_t n, const real *original, real *a) {
    memcpy(a, original, n * n * sizeof *a);
    for (size_t k = 0; k < n; k++)
        for (size_t i = k + 1; i < n; i++) {
            a[i * n + k] = a[i * n + k] / a[k * n + k];
            for (size_t j = k + 1; j < n; j++)
                a[i * n + j] = a[i * n + j] - a[i * n + k] * a[k * n + j];
        }
}

int main(int argc, char **argv) {
    size_t n = parameter(argc, argv, "n");
    real *a = filled(n * n), *factors = vector(n * n);
    for (size_t i = 0; i < n; i++)
        a[i * n + i] += 2 * n; /* no small pivot */
    declare(a, n * n);
    dmdprof_begin("lu");
    lu(n, a, factors);
    output(factors, n * n);
    dmdprof_end("lu");
    show(argc, argv, factors, n * n);
    return 0;
}
