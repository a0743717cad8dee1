/* Dot product with two accumulators, for the even and the odd elements. */
#include "kernel.h"

static real dot_2acc(size_t n, const real *a, const real *b) {
    real s0 = a[0] * b[0];
    real s1 = a[1] * b[1];
    for (size_t i = 2; i < n; i += 2) {
        s0 += a[i] * b[i];
        s1 += a[i + 1] * b[i + 1];
    }
    return s0 + s1;
}

int main(int argc, char **argv) {
    size_t n = parameter(argc, argv, "n");
    real *a = input(n), *b = input(n);
    dmdprof_begin("dot_2acc");
    real s = dot_2acc(n, a, b);
    output(&s, 1);
    dmdprof_end("dot_2acc");
    show(argc, argv, &s, 1);
    return 0;
}
