/* y = -x, ascending.
 *
 * cost values 11776
 * cost memory 11776
 *
 * Each x[i] lies below the x not yet read, N - 1 - i of them, and below the i results so far: N reads at depths
 * 8N-7 .. 8N, N (S(8N) - S(8N-8)) in both machines, S(n) being the sum of ceil(sqrt(d)) for d = 1 .. n. */
#include "agree.h"

NOINLINE void kernel(const double *x, double *y) {
    for (int i = 0; i < N; i++)
        y[i] = -x[i];
}

int main(void) {
    static double x[N], y[N];
    fill(x);
    dmdprof_input(x, sizeof x);
    dmdprof_begin("negate");
    kernel(x, y);
    dmdprof_output(y, sizeof y);
    dmdprof_end("negate");
    printf("%a\n", checksum(y));
    return 0;
}
