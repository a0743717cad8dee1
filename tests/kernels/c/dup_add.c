/* r = a + a: one operand twice, charged twice. */
#include "kernel.h"

static real dup_add(real a) {
    return a + a;
}

int main(int argc, char **argv) {
    real a = 3;
    declare(&a, 1);
    dmdprof_begin("dup_add");
    real r = dup_add(a);
    output(&r, 1);
    dmdprof_end("dup_add");
    show(argc, argv, &r, 1);
    return 0;
}
