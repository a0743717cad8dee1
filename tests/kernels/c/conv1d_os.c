/* Convolution out = in * f of Q outputs and S taps, one output after the other. */
#include "kernel.h"

static void conv1d_os(size_t Q, size_t S, const real *in, const real *f, real *out) {
    for (size_t q = 0; q < Q; q++) {
        real a = in[q] * f[0];
        for (size_t s = 1; s < S; s++)
            a += in[q + s] * f[s];
        out[q] = a;
    }
}

int main(int argc, char **argv) {
    size_t Q = parameter(argc, argv, "Q"), S = parameter(argc, argv, "S");
    real *in = input(Q + S - 1), *f = input(S), *out = vector(Q);
    dmdprof_begin("conv1d_os");
    conv1d_os(Q, S, in, f, out);
    output(out, Q);
    dmdprof_end("conv1d_os");
    show(argc, argv, out, Q);
    return 0;
}
