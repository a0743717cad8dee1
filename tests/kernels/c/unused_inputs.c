/* r = a[2] + b: the other elements of a are never read. */
#include "kernel.h"

static real unused_inputs(const real *a, real b) {
    return a[2] + b;
}

int main(int argc, char **argv) {
    real *a = input(4);
    real b = 5;
    declare(&b, 1);
    dmdprof_begin("unused_inputs");
    real r = unused_inputs(a, b);
    output(&r, 1);
    dmdprof_end("unused_inputs");
    show(argc, argv, &r, 1);
    return 0;
}
