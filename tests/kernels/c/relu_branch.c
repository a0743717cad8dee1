/* r = 2a if a > 0, otherwise a: a branch on a comparison. */
#include "kernel.h"

static real relu_branch(real a) {
    if (a > 0)
        return a * 2;
    return a;
}

int main(int argc, char **argv) {
    real a = parameter(argc, argv, "value");
    declare(&a, 1);
    dmdprof_begin("relu_branch");
    real r = relu_branch(a);
    output(&r, 1);
    dmdprof_end("relu_branch");
    show(argc, argv, &r, 1);
    return 0;
}
