// variants: row column
#include "pair.h"
enum { N = 2000, TIMES = 2 };
int main(void) {
    double *a = memory(sizeof(double) * N * N), *x = memory(sizeof(double) * N), *y = memory(sizeof(double) * N);
    for (int i = 0; i < N * N; i++) a[i] = i % 3;
    for (int i = 0; i < N; i++) x[i] = i % 4;
    for (int t = 0; t < TIMES; t++)
#ifdef VARIANT_row
        for (int i = 0; i < N; i++) {
            double s = y[i];
            for (int j = 0; j < N; j++) s += a[i * N + j] * x[j];
            y[i] = s;
        }
#else
        for (int j = 0; j < N; j++)
            for (int i = 0; i < N; i++) y[i] += a[i * N + j] * x[j];
#endif
    double sum = 0;
    for (int i = 0; i < N; i++) sum += y[i];
    printf("%.0f\n", sum);
}
