/* r = b + c > a + d: the comparison is an instruction with a result. */
#include "kernel.h"

static _Bool composite(real a, real b, real c, real d) {
    real e = b + c;
    real f = a + d;
    return e > f;
}

int main(int argc, char **argv) {
    real a = 1, b = 2, c = 3, d = 4;
    declare(&a, 1);
    declare(&b, 1);
    declare(&c, 1);
    declare(&d, 1);
    dmdprof_begin("composite");
    _Bool r = composite(a, b, c, d);
    dmdprof_output(&r, sizeof r);
    dmdprof_end("composite");
    show_bytes(argc, argv, &r, sizeof r);
    return 0;
}
