/* r = a * b + c * d + e. */
#include "../kernels/c/kernel.h"

int main(int argc, char **argv) {
    real a = 1, b = 2, c = 3, d = 4, e = 5;
    declare(&a, 1);
    declare(&b, 1);
    declare(&c, 1);
    declare(&d, 1);
    declare(&e, 1);
    dmdprof_begin("products");
    real r = a * b + c * d + e;
    output(&r, 1);
    dmdprof_end("products");
    show(argc, argv, &r, 1);
    return 0;
}
