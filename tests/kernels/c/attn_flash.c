/* Attention in blocks of Bk keys with a running maximum; squares stand for exp and reciprocal. */
#include "kernel.h"

static void attn_flash(size_t N, size_t d, size_t Bk, const real *Q, const real *K, const real *V, real *O) {
    real scale = 1 / sqrt((double)d);
    real *s = vector(Bk), *p = vector(Bk), *o = vector(d), *ob = vector(d);
    for (size_t i = 0; i < N; i++) {
        const real *q = Q + i * d;
        real m = 0, l = 0;
        for (size_t k0 = 0; k0 < N; k0 += Bk) {
            const real *k = K + k0 * d, *v = V + k0 * d;
            for (size_t j = 0; j < Bk; j++) {
                real a = q[0] * k[j * d];
                for (size_t c = 1; c < d; c++)
                    a += q[c] * k[j * d + c];
                s[j] = a * scale;
            }
            real mb = s[0];
            for (size_t j = 1; j < Bk; j++)
                mb = fmax(mb, s[j]);
            real lb = 0;
            for (size_t j = 0; j < Bk; j++) {
                real e = s[j] - mb;
                p[j] = e * e;
                lb = j == 0 ? p[j] : lb + p[j];
            }
            for (size_t c = 0; c < d; c++) {
                real a = p[0] * v[c];
                for (size_t j = 1; j < Bk; j++)
                    a += p[j] * v[j * d + c];
                ob[c] = a;
            }
            if (k0 == 0) {
                m = mb;
                l = lb;
                memcpy(o, ob, d * sizeof *o);
                continue;
            }
            real mn = fmax(m, mb);
            real x = m - mn, alpha = x * x;
            real y = mb - mn, beta = y * y;
            real kept = alpha * l, added = beta * lb;
            l = kept + added;
            for (size_t c = 0; c < d; c++) {
                kept = alpha * o[c];
                added = beta * ob[c];
                o[c] = kept + added;
            }
            m = mn;
        }
        real inverse = l * l;
        for (size_t c = 0; c < d; c++)
            O[i * d + c] = o[c] * inverse;
    }
}

int main(int argc, char **argv) {
    size_t N = parameter(argc, argv, "N"), d = parameter(argc, argv, "d"), Bk = parameter(argc, argv, "Bk");
    real *q = input(N * d), *k = input(N * d), *v = input(N * d), *o = vector(N * d);
    dmdprof_begin("attn_flash");
    attn_flash(N, d, Bk, q, k, v, o);
    output(o, N * d);
    dmdprof_end("attn_flash");
    show(argc, argv, o, N * d);
    return 0;
}
