/* C = A B by Winograd's form of Strassen's products, down to single elements. */
#include "kernel.h"

static real *winograd(size_t n, const real *a, const real *b) {
    real *c = vector(n * n);
    if (n == 1) {
        c[0] = a[0] * b[0];
        return c;
    }
    size_t h = n / 2;
    real *a11 = block(h, a, 0, 0), *a12 = block(h, a, 0, 1), *a21 = block(h, a, 1, 0), *a22 = block(h, a, 1, 1);
    real *b11 = block(h, b, 0, 0), *b12 = block(h, b, 0, 1), *b21 = block(h, b, 1, 0), *b22 = block(h, b, 1, 1);
    real *v1 = difference(h, b22, b12), *v2 = sum(h, v1, b11), *v3 = difference(h, v2, b21);
    real *v4 = difference(h, b12, b11);
    real *u1 = difference(h, a11, a21), *u2 = sum(h, a21, a22), *u3 = difference(h, u1, a22), *u4 = sum(h, u3, a12);
    real *p1 = winograd(h, a11, b11), *p2 = winograd(h, a12, b21), *p3 = winograd(h, a22, v3);
    real *p4 = winograd(h, u1, v1), *p5 = winograd(h, u2, v4), *p6 = winograd(h, u4, b22), *p7 = winograd(h, u3, v2);
    real *t1 = difference(h, p1, p7), *t2 = sum(h, t1, p5);
    place(h, c, 0, 0, sum(h, p1, p2));
    place(h, c, 0, 1, sum(h, t2, p6));
    place(h, c, 1, 0, sum(h, difference(h, t1, p3), p4));
    place(h, c, 1, 1, sum(h, t2, p4));
    return c;
}

int main(int argc, char **argv) {
    size_t n = parameter(argc, argv, "n");
    real *a = input(n * n), *b = input(n * n);
    dmdprof_begin("winograd");
    real *c = winograd(n, a, b);
    output(c, n * n);
    dmdprof_end("winograd");
    show(argc, argv, c, n * n);
    return 0;
}
