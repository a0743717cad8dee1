/* r = xs[i]: an input used as an index. */
#include "kernel.h"

static real index_escape(const real *xs, long i) {
    return xs[i];
}

int main(int argc, char **argv) {
    real *xs = filled(3);
    long i = 1;
    declare(xs, 3);
    dmdprof_input(&i, sizeof i);
    dmdprof_begin("index_escape");
    real r = index_escape(xs, i);
    output(&r, 1);
    dmdprof_end("index_escape");
    show(argc, argv, &r, 1);
    return 0;
}
