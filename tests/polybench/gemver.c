// variants: columns rows fused
#include "poly.h"
// B = A + u1 v1' + u2 v2'; x = beta B' y + z; w = alpha B x, a few times. The product with the transpose goes by
// columns of B, by rows, or along with the update of B.
enum { N = SIZE(900, 70), TIMES = 2 };
static double a[N][N], u1[N], v1[N], u2[N], v2[N], w[N], x[N], y[N], z[N];
int main(void) {
    const double alpha = 3, beta = 2;
    FILL(a, 1), FILL(u1, 2), FILL(v1, 3), FILL(u2, 4), FILL(v2, 5), FILL(y, 6), FILL(z, 7);
    for (int t = 0; t < TIMES; t++) {
#if defined VARIANT_fused
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) {
                a[i][j] += u1[i] * v1[j] + u2[i] * v2[j];
                x[j] += beta * a[i][j] * y[i];
            }
#else
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) a[i][j] += u1[i] * v1[j] + u2[i] * v2[j];
#if defined VARIANT_rows
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) x[j] += beta * a[i][j] * y[i];
#else
        for (int j = 0; j < N; j++)
            for (int i = 0; i < N; i++) x[j] += beta * a[i][j] * y[i];
#endif
#endif
        for (int i = 0; i < N; i++) x[i] += z[i];
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) w[i] += alpha * a[i][j] * x[j];
    }
    RESULT(w), RESULT(x), RESULT(a);
    return print_results();
}
