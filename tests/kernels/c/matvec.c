/* y = A x, row by row. */
#include "kernel.h"

static void matvec(size_t n, const real *a, const real *x, real *y) {
    for (size_t i = 0; i < n; i++) {
        real s = a[i * n] * x[0];
        for (size_t j = 1; j < n; j++)
            s += a[i * n + j] * x[j];
        y[i] = s;
    }
}

int main(int argc, char **argv) {
    size_t n = parameter(argc, argv, "n");
    real *a = input(n * n), *x = input(n), *y = vector(n);
    dmdprof_begin("matvec");
    matvec(n, a, x, y);
    output(y, n);
    dmdprof_end("matvec");
    show(argc, argv, y, n);
    return 0;
}
