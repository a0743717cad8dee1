/* The polynomial with coefficients c[0..n] at x, by Horner's rule. */
#include "kernel.h"

static real horner(size_t n, const real *c, real x) {
    real r = c[n];
    for (size_t i = n; i-- > 0;)
        r = r * x + c[i];
    return r;
}

int main(int argc, char **argv) {
    size_t n = parameter(argc, argv, "n");
    real *c = input(n + 1);
    real x = 0.5;
    declare(&x, 1);
    dmdprof_begin("horner");
    real r = horner(n, c, x);
    output(&r, 1);
    dmdprof_end("horner");
    show(argc, argv, &r, 1);
    return 0;
}
