/* Dot product as a sum that starts at 0: the first addition has one tracked operand. */
#include "kernel.h"

static real dot_sum(size_t n, const real *a, const real *b) {
    real s = 0;
    for (size_t i = 0; i < n; i++)
        s += a[i] * b[i];
    return s;
}

int main(int argc, char **argv) {
    size_t n = parameter(argc, argv, "n");
    real *a = input(n), *b = input(n);
    dmdprof_begin("dot_sum");
    real s = dot_sum(n, a, b);
    output(&s, 1);
    dmdprof_end("dot_sum");
    show(argc, argv, &s, 1);
    return 0;
}
