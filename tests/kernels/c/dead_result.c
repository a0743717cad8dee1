/* r = b + c, after a product that nobody uses. */
#include "kernel.h"

static real dead_result(real a, real b, real c) {
    real t = a * b;
    (void)t;
    return b + c;
}

int main(int argc, char **argv) {
    real a = 1, b = 2, c = 3;
    declare(&a, 1);
    declare(&b, 1);
    declare(&c, 1);
    dmdprof_begin("dead_result");
    real r = dead_result(a, b, c);
    output(&r, 1);
    dmdprof_end("dead_result");
    show(argc, argv, &r, 1);
    return 0;
}
