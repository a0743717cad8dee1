// variants: column row
#include "pair.h"
enum { N = 1800, TIMES = 3 };
// x2 += transpose(A) * y2: by columns of A for each x2[i], or by rows of A.
int main(void) {
    float *a = memory(sizeof(float) * N * N), *x = memory(sizeof(float) * N), *y = memory(sizeof(float) * N);
    for (int i = 0; i < N * N; i++) a[i] = i % 3;
    for (int i = 0; i < N; i++) y[i] = i % 2;
    for (int t = 0; t < TIMES; t++)
#ifdef VARIANT_column
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) x[i] += a[j * N + i] * y[j];
#else
        for (int j = 0; j < N; j++)
            for (int i = 0; i < N; i++) x[i] += a[j * N + i] * y[j];
#endif
    double sum = 0;
    for (int i = 0; i < N; i++) sum += x[i];
    printf("%.0f\n", sum);
}
