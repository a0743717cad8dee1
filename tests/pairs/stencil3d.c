// variants: xyz zyx
#include "pair.h"
enum { N = 120, TIMES = 1 };
#define AT(p, z, y, x) p[((z) * N + (y)) * N + (x)]
static void sweep(double *restrict out, const double *restrict in) {
#ifdef VARIANT_zyx
    for (int z = 1; z < N - 1; z++)
        for (int y = 1; y < N - 1; y++)
            for (int x = 1; x < N - 1; x++)
#else
    for (int x = 1; x < N - 1; x++)
        for (int y = 1; y < N - 1; y++)
            for (int z = 1; z < N - 1; z++)
#endif
                AT(out, z, y, x) = (AT(in, z - 1, y, x) + AT(in, z + 1, y, x)) + (AT(in, z, y - 1, x) + AT(in, z, y + 1, x)) +
                                   (AT(in, z, y, x - 1) + AT(in, z, y, x + 1));
}
int main(void) {
    double *a = memory(sizeof(double) * N * N * N), *b = memory(sizeof(double) * N * N * N);
    for (int i = 0; i < N * N * N; i++) a[i] = i % 10;
    for (int t = 0; t < TIMES; t++) sweep(b, a), sweep(a, b);
    double sum = 0;
    for (int i = 0; i < N * N * N; i++) sum += a[i];
    printf("%.0f\n", sum);
}
