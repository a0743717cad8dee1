/* y = 1 - x ascending, then z = |x| and y = -y descending: every x is read twice and every y once.
 *
 * cost values 36747
 * cost memory 36747
 *
 * First pass: an x that is needed again stays, on top, so x[i] lies below the N - 1 other x and i results. Second pass,
 * after k steps: 2k results are on top, then y[i], then x[i]; x[i] is read below 2k + 1 numbers and dies, z[i] goes on
 * top, and y[i] is read below 2k + 1. Together S(16N-8) - S(8N-8), and twice the sum of S(16k+16) - S(16k+8) over
 * k = 0 .. N-1, in both machines; S(n) is the sum of ceil(sqrt(d)) for d = 1 .. n. */
#include "agree.h"

NOINLINE void kernel(const double *x, double *y, double *z) {
    for (int i = 0; i < N; i++)
        y[i] = 1 - x[i];
    for (int i = N - 1; i >= 0; i--) {
        z[i] = fabs(x[i]);
        y[i] = -y[i];
    }
}

int main(void) {
    static double x[N], y[N], z[N];
    fill(x);
    dmdprof_input(x, sizeof x);
    dmdprof_begin("scan");
    kernel(x, y, z);
    dmdprof_output(y, sizeof y);
    dmdprof_output(z, sizeof z);
    dmdprof_end("scan");
    printf("%a %a\n", checksum(y), checksum(z));
    return 0;
}
