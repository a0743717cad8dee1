/* r = (a + b) + c. */
#include "kernel.h"

static real my_add(real a, real b, real c) {
    real t = a + b;
    return t + c;
}

int main(int argc, char **argv) {
    real a = 1, b = 2, c = 3;
    declare(&a, 1);
    declare(&b, 1);
    declare(&c, 1);
    dmdprof_begin("my_add");
    real r = my_add(a, b, c);
    output(&r, 1);
    dmdprof_end("my_add");
    show(argc, argv, &r, 1);
    return 0;
}
