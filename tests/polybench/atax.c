// variants: columns rows fused
#include "poly.h"
// y += transpose(A) (A x), a few times: the second product by columns of A, by rows, or along with the first.
enum { M = SIZE(1000, 60), N = SIZE(1100, 70), TIMES = 3 };
static double a[M][N], x[N], y[N], s[M];
static void product(int i) {
    double sum = 0;
    for (int j = 0; j < N; j++) sum += a[i][j] * x[j];
    s[i] = sum;
}
int main(void) {
    FILL(a, 1), FILL(x, 2);
    for (int t = 0; t < TIMES; t++) {
#if defined VARIANT_fused
        for (int i = 0; i < M; i++) {
            product(i);
            for (int j = 0; j < N; j++) y[j] += a[i][j] * s[i];
        }
#else
        for (int i = 0; i < M; i++) product(i);
#if defined VARIANT_rows
        for (int i = 0; i < M; i++)
            for (int j = 0; j < N; j++) y[j] += a[i][j] * s[i];
#else
        for (int j = 0; j < N; j++)
            for (int i = 0; i < M; i++) y[j] += a[i][j] * s[i];
#endif
#endif
    }
    RESULT(y);
    return print_results();
}
