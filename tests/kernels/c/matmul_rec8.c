/* C = A B by eight products of half the size, down to single elements. */
#include "kernel.h"

static real *matmul_rec8(size_t n, const real *a, const real *b) {
    real *c = vector(n * n);
    if (n == 1) {
        c[0] = a[0] * b[0];
        return c;
    }
    size_t h = n / 2;
    for (size_t i = 0; i < 2; i++)
        for (size_t j = 0; j < 2; j++) {
            real *first = matmul_rec8(h, block(h, a, i, 0), block(h, b, 0, j));
            real *second = matmul_rec8(h, block(h, a, i, 1), block(h, b, 1, j));
            place(h, c, i, j, sum(h, first, second));
        }
    return c;
}

int main(int argc, char **argv) {
    size_t n = parameter(argc, argv, "n");
    real *a = input(n * n), *b = input(n * n);
    dmdprof_begin("matmul_rec8");
    real *c = matmul_rec8(n, a, b);
    output(c, n * n);
    dmdprof_end("matmul_rec8");
    show(argc, argv, c, n * n);
    return 0;
}
