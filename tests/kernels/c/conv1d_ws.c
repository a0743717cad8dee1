/* Convolution out = in * f of Q outputs and S taps, one tap after the other. */
#include "kernel.h"

static void conv1d_ws(size_t Q, size_t S, const real *in, const real *f, real *out) {
    for (size_t s = 0; s < S; s++)
        for (size_t q = 0; q < Q; q++) {
            real p = in[q + s] * f[s];
            out[q] = s == 0 ? p : out[q] + p;
        }
}

int main(int argc, char **argv) {
    size_t Q = parameter(argc, argv, "Q"), S = parameter(argc, argv, "S");
    real *in = input(Q + S - 1), *f = input(S), *out = vector(Q);
    dmdprof_begin("conv1d_ws");
    conv1d_ws(Q, S, in, f, out);
    output(out, Q);
    dmdprof_end("conv1d_ws");
    show(argc, argv, out, Q);
    return 0;
}
