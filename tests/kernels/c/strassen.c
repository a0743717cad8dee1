/* C = A B by Strassen's seven products, down to blocks of `leaf`. */
#include "kernel.h"

static void matmul_ijk(size_t n, const real *a, const real *b, real *c) {
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            real s = a[i * n] * b[j];
            for (size_t k = 1; k < n; k++)
                s += a[i * n + k] * b[k * n + j];
            c[i * n + j] = s;
        }
}

static real *strassen(size_t n, size_t leaf, const real *a, const real *b) {
    real *c = vector(n * n);
    if (n <= leaf) {
        matmul_ijk(n, a, b, c);
        return c;
    }
    size_t h = n / 2;
    real *a11 = block(h, a, 0, 0), *a12 = block(h, a, 0, 1), *a21 = block(h, a, 1, 0), *a22 = block(h, a, 1, 1);
    real *b11 = block(h, b, 0, 0), *b12 = block(h, b, 0, 1), *b21 = block(h, b, 1, 0), *b22 = block(h, b, 1, 1);
    real *left = sum(h, a11, a22), *right = sum(h, b11, b22);
    real *m1 = strassen(h, leaf, left, right);
    left = sum(h, a21, a22);
    real *m2 = strassen(h, leaf, left, b11);
    right = difference(h, b12, b22);
    real *m3 = strassen(h, leaf, a11, right);
    right = difference(h, b21, b11);
    real *m4 = strassen(h, leaf, a22, right);
    left = sum(h, a11, a12);
    real *m5 = strassen(h, leaf, left, b22);
    left = difference(h, a21, a11);
    right = sum(h, b11, b12);
    real *m6 = strassen(h, leaf, left, right);
    left = difference(h, a12, a22);
    right = sum(h, b21, b22);
    real *m7 = strassen(h, leaf, left, right);
    place(h, c, 0, 0, sum(h, difference(h, sum(h, m1, m4), m5), m7));
    place(h, c, 0, 1, sum(h, m3, m5));
    place(h, c, 1, 0, sum(h, m2, m4));
    place(h, c, 1, 1, sum(h, sum(h, difference(h, m1, m2), m3), m6));
    return c;
}

int main(int argc, char **argv) {
    size_t n = parameter(argc, argv, "n");
    size_t leaf = parameter(argc, argv, "leaf");
    real *a = input(n * n), *b = input(n * n);
    dmdprof_begin("strassen");
    real *c = strassen(n, leaf, a, b);
    output(c, n * n);
    dmdprof_end("strassen");
    show(argc, argv, c, n * n);
    return 0;
}
