// variants: plain blocked
#include "pair.h"
enum { N = 1200, T = 40, TIMES = 3 };
int main(void) {
    double *a = memory(sizeof(double) * N * N), *b = memory(sizeof(double) * N * N);
    for (int i = 0; i < N * N; i++) a[i] = i & 1023;
    for (int t = 0; t < TIMES; t++) {
#ifdef VARIANT_plain
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) b[j * N + i] = a[i * N + j];
#else
        for (int ii = 0; ii < N; ii += T)
            for (int jj = 0; jj < N; jj += T)
                for (int i = ii; i < ii + T; i++)
                    for (int j = jj; j < jj + T; j++) b[j * N + i] = a[i * N + j];
#endif
        a[t] = b[N + t];
    }
    double sum = 0;
    for (int i = 0; i < N; i++) sum += b[i * N + i / 2];
    printf("%.0f\n", sum);
}
