// variants: fused separate columns
#include "poly.h"
// y += alpha A x + beta B x, a few times: in one sweep over the rows of both, one matrix after the other, by columns.
enum { N = SIZE(900, 70), TIMES = 3 };
static double a[N][N], b[N][N], x[N], y[N];
int main(void) {
    const double alpha = 3, beta = 2;
    FILL(a, 1), FILL(b, 2), FILL(x, 3);
    for (int t = 0; t < TIMES; t++) {
#if defined VARIANT_fused
        for (int i = 0; i < N; i++) {
            double of_a = 0, of_b = 0;
            for (int j = 0; j < N; j++) {
                of_a += a[i][j] * x[j];
                of_b += b[i][j] * x[j];
            }
            y[i] += alpha * of_a + beta * of_b;
        }
#elif defined VARIANT_separate
        for (int i = 0; i < N; i++) {
            double of_a = 0;
            for (int j = 0; j < N; j++) of_a += a[i][j] * x[j];
            y[i] += alpha * of_a;
        }
        for (int i = 0; i < N; i++) {
            double of_b = 0;
            for (int j = 0; j < N; j++) of_b += b[i][j] * x[j];
            y[i] += beta * of_b;
        }
#else
        for (int j = 0; j < N; j++)
            for (int i = 0; i < N; i++) y[i] += (alpha * a[i][j] + beta * b[i][j]) * x[j];
#endif
    }
    RESULT(y);
    return print_results();
}
