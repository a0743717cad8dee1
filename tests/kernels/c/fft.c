/* Fourier transform of re + i im, radix 2, decimation in time, on a bit-reversed copy. */
#include "kernel.h"

static size_t reversed(size_t i, size_t n) {
    size_t r = 0;
    for (size_t bit = 1; bit < n; bit *= 2) {
        r = 2 * r + (i & 1);
        i /= 2;
    }
    return r;
}

static void butterfly(real *re, real *im, size_t p, size_t q, real wr, real wi) {
    real a = re[p], b = im[p], c = re[q], d = im[q];
    real t1 = c * wr, t2 = d * wi;
    real tr = t1 - t2;
    real t3 = c * wi, t4 = d * wr;
    real ti = t3 + t4;
    re[q] = a - tr;
    im[q] = b - ti;
    re[p] = a + tr;
    im[p] = b + ti;
}

static void fft(size_t n, const real *re, const real *im, real *outre, real *outim) {
    for (size_t i = 0; i < n; i++) {
        outre[i] = re[reversed(i, n)];
        outim[i] = im[reversed(i, n)];
    }
    for (size_t length = 2; length <= n; length *= 2)
        for (size_t start = 0; start < n; start += length)
            for (size_t j = 0; j < length / 2; j++) {
                real angle = -2 * 3.141592653589793 * (real)j / (real)length;
                butterfly(outre, outim, start + j, start + j + length / 2, cos(angle), sin(angle));
            }
}

int main(int argc, char **argv) {
    size_t n = parameter(argc, argv, "n");
    real *re = input(n), *im = input(n), *outre = vector(n), *outim = vector(n);
    dmdprof_begin("fft");
    fft(n, re, im, outre, outim);
    output(outre, n);
    output(outim, n);
    dmdprof_end("fft");
    show(argc, argv, outre, n);
    show(argc, argv, outim, n);
    return 0;
}
