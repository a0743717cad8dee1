// variants: columns rows fused
#include "poly.h"
// x1 += A y1 and x2 += transpose(A) y2, a few times: the second by columns of A, by rows, or along with the first.
enum { N = SIZE(1050, 65), TIMES = 3 };
static double a[N][N], x1[N], x2[N], y1[N], y2[N];
int main(void) {
    FILL(a, 1), FILL(x1, 2), FILL(x2, 3), FILL(y1, 4), FILL(y2, 5);
    for (int t = 0; t < TIMES; t++) {
#if defined VARIANT_fused
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) {
                x1[i] += a[i][j] * y1[j];
                x2[j] += a[i][j] * y2[i];
            }
#else
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) x1[i] += a[i][j] * y1[j];
#if defined VARIANT_rows
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) x2[j] += a[i][j] * y2[i];
#else
        for (int j = 0; j < N; j++)
            for (int i = 0; i < N; i++) x2[j] += a[i][j] * y2[i];
#endif
#endif
    }
    RESULT(x1), RESULT(x2);
    return print_results();
}
