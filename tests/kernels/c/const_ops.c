/* u = 10 - 10a: constants are free and never on the stack. */
#include "kernel.h"

static real const_ops(real a) {
    real t = a * 10;
    return 10 - t;
}

int main(int argc, char **argv) {
    real a = 5;
    declare(&a, 1);
    dmdprof_begin("const_ops");
    real u = const_ops(a);
    output(&u, 1);
    dmdprof_end("const_ops");
    show(argc, argv, &u, 1);
    return 0;
}
