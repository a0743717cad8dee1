/* Dot product. */
#include "kernel.h"

static real dot(size_t n, const real *a, const real *b) {
    real s = a[0] * b[0];
    for (size_t i = 1; i < n; i++)
        s += a[i] * b[i];
    return s;
}

int main(int argc, char **argv) {
    size_t n = parameter(argc, argv, "n");
    real *a = input(n), *b = input(n);
    dmdprof_begin("dot");
    real s = dot(n, a, b);
    output(&s, 1);
    dmdprof_end("dot");
    show(argc, argv, &s, 1);
    return 0;
}
