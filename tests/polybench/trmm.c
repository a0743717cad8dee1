// variants: ijk ikj strips
#include "poly.h"
// B = alpha A' B with a lower triangular A that has ones on its diagonal. Columns of B do not depend on each other.
enum { M = SIZE(380, 45), N = SIZE(400, 50), STRIP = 32 };
static double a[M][M], b[M][N];
int main(void) {
    const double alpha = 3;
    FILL(a, 1), FILL(b, 2);
#if defined VARIANT_ijk
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            for (int k = i + 1; k < M; k++) b[i][j] += a[k][i] * b[k][j];
            b[i][j] *= alpha;
        }
#elif defined VARIANT_ikj
    for (int i = 0; i < M; i++) {
        for (int k = i + 1; k < M; k++)
            for (int j = 0; j < N; j++) b[i][j] += a[k][i] * b[k][j];
        for (int j = 0; j < N; j++) b[i][j] *= alpha;
    }
#else
    for (int jj = 0; jj < N; jj += STRIP)
        for (int i = 0; i < M; i++) {
            for (int k = i + 1; k < M; k++)
                for (int j = jj; j < MIN(jj + STRIP, N); j++) b[i][j] += a[k][i] * b[k][j];
            for (int j = jj; j < MIN(jj + STRIP, N); j++) b[i][j] *= alpha;
        }
#endif
    RESULT(b);
    return print_results();
}
