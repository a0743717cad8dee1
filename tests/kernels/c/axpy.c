/* r = alpha x + y. */
#include "kernel.h"

static void axpy(size_t n, real alpha, const real *x, const real *y, real *r) {
    for (size_t i = 0; i < n; i++)
        r[i] = alpha * x[i] + y[i];
}

int main(int argc, char **argv) {
    size_t n = parameter(argc, argv, "n");
    real alpha = 3;
    declare(&alpha, 1);
    real *x = input(n), *y = input(n), *r = vector(n);
    dmdprof_begin("axpy");
    axpy(n, alpha, x, y, r);
    output(r, n);
    dmdprof_end("axpy");
    show(argc, argv, r, n);
    return 0;
}
