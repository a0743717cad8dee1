/* r[i] = a[i] + s; both r and a are returned. */
#include "kernel.h"

static void return_inputs(const real *a, real s, real *r) {
    for (size_t i = 0; i < 4; i++)
        r[i] = a[i] + s;
}

int main(int argc, char **argv) {
    real *a = input(4), *r = vector(4);
    real s = 5;
    declare(&s, 1);
    dmdprof_begin("return_inputs");
    return_inputs(a, s, r);
    output(r, 4);
    output(a, 4);
    dmdprof_end("return_inputs");
    show(argc, argv, r, 4);
    return 0;
}
