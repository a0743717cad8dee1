/* Dot product, all products first, then added pairwise. */
#include "kernel.h"

static real dot_tree(size_t n, const real *a, const real *b) {
    real *t = vector(n);
    for (size_t i = 0; i < n; i++)
        t[i] = a[i] * b[i];
    for (size_t left = n / 2; left >= 1; left /= 2)
        for (size_t i = 0; i < left; i++)
            t[i] = t[2 * i] + t[2 * i + 1];
    return t[0];
}

int main(int argc, char **argv) {
    size_t n = parameter(argc, argv, "n");
    real *a = input(n), *b = input(n);
    dmdprof_begin("dot_tree");
    real s = dot_tree(n, a, b);
    output(&s, 1);
    dmdprof_end("dot_tree");
    show(argc, argv, &s, 1);
    return 0;
}
