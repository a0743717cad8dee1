/* y = x A, column by column. */
#include "kernel.h"

static void vecmat(size_t n, const real *a, const real *x, real *y) {
    for (size_t j = 0; j < n; j++) {
        real s = x[0] * a[j];
        for (size_t i = 1; i < n; i++)
            s += x[i] * a[i * n + j];
        y[j] = s;
    }
}

int main(int argc, char **argv) {
    size_t n = parameter(argc, argv, "n");
    real *a = input(n * n), *x = input(n), *y = vector(n);
    dmdprof_begin("vecmat");
    vecmat(n, a, x, y);
    output(y, n);
    dmdprof_end("vecmat");
    show(argc, argv, y, n);
    return 0;
}
