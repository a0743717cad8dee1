// variants: two_passes fused
#include "pair.h"
enum { M = 2600, N = 1600, TIMES = 2 };
// y = transpose(A) * (A * x): A twice, or each row of A while it is near.
int main(void) {
    double *a = memory(sizeof(double) * M * N), *x = memory(sizeof(double) * N), *y = memory(sizeof(double) * N);
    double *tmp = memory(sizeof(double) * M);
    for (int i = 0; i < M * N; i++) a[i] = i % 3;
    for (int i = 0; i < N; i++) x[i] = i % 2;
    for (int t = 0; t < TIMES; t++) {
#ifdef VARIANT_fused
        for (int i = 0; i < M; i++) {
            double s = 0;
            for (int j = 0; j < N; j++) s += a[i * N + j] * x[j];
            for (int j = 0; j < N; j++) y[j] += a[i * N + j] * s;
        }
#else
        for (int i = 0; i < M; i++) {
            double s = 0;
            for (int j = 0; j < N; j++) s += a[i * N + j] * x[j];
            tmp[i] = s;
        }
        for (int j = 0; j < N; j += 4)
            for (int i = 0; i < M; i++)
                for (int k = j; k < j + 4; k++) y[k] += a[i * N + k] * tmp[i];
#endif
    }
    double sum = 0;
    for (int i = 0; i < N; i++) sum += y[i];
    printf("%.0f\n", sum);
}
