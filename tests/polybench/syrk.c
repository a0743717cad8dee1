// variants: ijk ikj transposed
#include "poly.h"
// The lower half of C = alpha A A' + beta C.
enum { M = SIZE(360, 40), N = SIZE(340, 45) };
static double a[N][M], c[N][N];
int main(void) {
    const double alpha = 3, beta = 2;
    FILL(a, 1), FILL(c, 2);
    for (int i = 0; i < N; i++)
        for (int j = 0; j <= i; j++) c[i][j] *= beta;
#if defined VARIANT_ijk
    for (int i = 0; i < N; i++)
        for (int j = 0; j <= i; j++)
            for (int k = 0; k < M; k++) c[i][j] += alpha * a[i][k] * a[j][k];
#elif defined VARIANT_ikj
    for (int i = 0; i < N; i++)
        for (int k = 0; k < M; k++)
            for (int j = 0; j <= i; j++) c[i][j] += alpha * a[i][k] * a[j][k];
#else
    static double t[M][N];
    for (int i = 0; i < N; i++)
        for (int k = 0; k < M; k++) t[k][i] = a[i][k];
    for (int i = 0; i < N; i++)
        for (int k = 0; k < M; k++)
            for (int j = 0; j <= i; j++) c[i][j] += alpha * a[i][k] * t[k][j];
#endif
    RESULT(c);
    return print_results();
}
