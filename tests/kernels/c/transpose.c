/* B = transpose of A: moves only. */
#include "kernel.h"

static void transpose(size_t n, const real *a, real *b) {
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            b[i * n + j] = a[j * n + i];
}

int main(int argc, char **argv) {
    size_t n = parameter(argc, argv, "n");
    real *a = input(n * n), *b = vector(n * n);
    dmdprof_begin("transpose");
    transpose(n, a, b);
    output(b, n * n);
    dmdprof_end("transpose");
    show(argc, argv, b, n * n);
    return 0;
}
