/* y[11 i mod N] = |x[27 i mod N]|: both sides in an order of their own.
 *
 * cost values 10166
 * cost memory 10166
 *
 * The i-th read finds above it the x of higher index that are still to be read, and i results; where the results are
 * stored is of no account. Both machines see that in the same way; there is no shorter formula for the sum. */
#include "agree.h"

NOINLINE void kernel(const double *x, double *y) {
    for (int i = 0; i < N; i++)
        y[11 * i % N] = fabs(x[27 * i % N]);
}

int main(void) {
    static double x[N], y[N];
    fill(x);
    dmdprof_input(x, sizeof x);
    dmdprof_begin("scatter");
    kernel(x, y);
    dmdprof_output(y, sizeof y);
    dmdprof_end("scatter");
    printf("%a\n", checksum(y));
    return 0;
}
