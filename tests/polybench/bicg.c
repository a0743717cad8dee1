// variants: fused separate columns
#include "poly.h"
// q += A p and s += transpose(A) r, a few times: in one sweep over the rows of A, in two, or in one over its columns.
enum { M = SIZE(1100, 60), N = SIZE(1000, 70), TIMES = 3 };
static double a[N][M], p[M], q[N], r[N], s[M];
int main(void) {
    FILL(a, 1), FILL(p, 2), FILL(r, 3);
    for (int t = 0; t < TIMES; t++) {
#if defined VARIANT_fused
        for (int i = 0; i < N; i++)
            for (int j = 0; j < M; j++) {
                s[j] += r[i] * a[i][j];
                q[i] += a[i][j] * p[j];
            }
#elif defined VARIANT_separate
        for (int i = 0; i < N; i++)
            for (int j = 0; j < M; j++) s[j] += r[i] * a[i][j];
        for (int i = 0; i < N; i++)
            for (int j = 0; j < M; j++) q[i] += a[i][j] * p[j];
#else
        for (int j = 0; j < M; j++)
            for (int i = 0; i < N; i++) {
                s[j] += r[i] * a[i][j];
                q[i] += a[i][j] * p[j];
            }
#endif
    }
    RESULT(q), RESULT(s);
    return print_results();
}
