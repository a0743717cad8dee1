/* z = x + y: two operands, and the machines differ.
 *
 * cost values 26147
 * cost memory 26075
 *
 * The values machine prices x[i] and y[i] against the stack before the addition: x[i] below N - 1 numbers, y[i] below
 * 2N - 1 - i, x[i] among them. In the memory machine the load of x[i] comes first and is its last, so x[i] has left when
 * y[i] is read, one place higher: below 2N - 2 - i. The sums over i telescope, and the values machine is dearer by
 * (S(16N) - S(16N-8)) - (S(8N) - S(8N-8)), S(n) being the sum of ceil(sqrt(d)) for d = 1 .. n: 72. */
#include "agree.h"

NOINLINE void kernel(const double *x, const double *y, double *z) {
    for (int i = 0; i < N; i++)
        z[i] = x[i] + y[i];
}

int main(void) {
    static double x[N], y[N], z[N];
    fill(y);
    fill(x);
    dmdprof_input(x, sizeof x);
    dmdprof_input(y, sizeof y);
    dmdprof_begin("add");
    kernel(x, y, z);
    dmdprof_output(z, sizeof z);
    dmdprof_end("add");
    printf("%a\n", checksum(z));
    return 0;
}
