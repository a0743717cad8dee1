/* Attention with the whole N x N matrix of scores; squares stand for exp and reciprocal. */
#include "kernel.h"

static void attn_naive(size_t N, size_t d, const real *q, const real *k, const real *v, real *o) {
    real scale = 1 / sqrt((double)d);
    real *s = vector(N * N), *p = vector(N * N);
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++) {
            real a = q[i * d] * k[j * d];
            for (size_t c = 1; c < d; c++)
                a += q[i * d + c] * k[j * d + c];
            s[i * N + j] = a * scale;
        }
    for (size_t i = 0; i < N; i++) {
        const real *row = s + i * N;
        real m = row[0];
        for (size_t j = 1; j < N; j++) {
            real unused = row[j] - m;
            (void)unused;
            m = fmax(m, row[j]);
        }
        real total = 0;
        for (size_t j = 0; j < N; j++) {
            real e = row[j] - m;
            p[i * N + j] = e * e;
            total = j == 0 ? p[i * N + j] : total + p[i * N + j];
        }
        real inverse = total * total;
        for (size_t j = 0; j < N; j++)
            p[i * N + j] = p[i * N + j] * inverse;
    }
    for (size_t i = 0; i < N; i++)
        for (size_t c = 0; c < d; c++) {
            real a = p[i * N] * v[c];
            for (size_t j = 1; j < N; j++)
                a += p[i * N + j] * v[j * d + c];
            o[i * d + c] = a;
        }
}

int main(int argc, char **argv) {
    size_t N = parameter(argc, argv, "N"), d = parameter(argc, argv, "d");
    real *q = input(N * d), *k = input(N * d), *v = input(N * d), *o = vector(N * d);
    dmdprof_begin("attn_naive");
    attn_naive(N, d, q, k, v, o);
    output(o, N * d);
    dmdprof_end("attn_naive");
    show(argc, argv, o, N * d);
    return 0;
}
