/* y = -x, z = |y|, x = 3 z: a chain of three passes, the last one into the room of the first.
 *
 * cost values 35328
 * cost memory 35328
 *
 * As negate.c, three times: every read finds the N - 1 other numbers of its generation, old or new, above it, so
 * 3 N (S(8N) - S(8N-8)) in both machines. The old x are dead when their room is written again. */
#include "agree.h"

NOINLINE void kernel(double *x, double *y, double *z) {
    for (int i = 0; i < N; i++)
        y[i] = -x[i];
    for (int i = 0; i < N; i++)
        z[i] = fabs(y[i]);
    for (int i = 0; i < N; i++)
        x[i] = z[i] * 3;
}

int main(void) {
    static double x[N], y[N], z[N];
    fill(x);
    dmdprof_input(x, sizeof x);
    dmdprof_begin("chain");
    kernel(x, y, z);
    dmdprof_output(x, sizeof x);
    dmdprof_end("chain");
    printf("%a\n", checksum(x));
    return 0;
}
