/* r = ldexp(ldexp(a, b), c): operands of 8, 4 and 1 bytes, each instruction with two of them. */
#include "kernel.h"

/* No machine instruction adds numbers of different widths, but ldexp takes a double and an integer. The second name
 * takes the integer as one byte, which the caller widens as it passes it. */
double ldexp_byte(double x, signed char exponent) __asm__("ldexp");

static double mixed_abc(double a, int32_t b, const signed char *c) {
    double t = ldexp(a, b);
    return ldexp_byte(t, *c);
}

int main(int argc, char **argv) {
    double a = 1.5;
    int32_t b = 2;
    signed char c = 3;
    dmdprof_input(&a, sizeof a);
    dmdprof_input(&b, sizeof b);
    dmdprof_input(&c, sizeof c);
    dmdprof_begin("mixed_abc");
    double r = mixed_abc(a, b, &c);
    dmdprof_output(&r, sizeof r);
    dmdprof_end("mixed_abc");
    show(argc, argv, &r, 1);
    return 0;
}
