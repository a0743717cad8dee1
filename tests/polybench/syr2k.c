// variants: ijk ikj tiled
#include "poly.h"
// The lower half of C = alpha (A B' + B A') + beta C.
enum { M = SIZE(300, 40), N = SIZE(280, 45), T = 32 };
static double a[N][M], b[N][M], c[N][N];
int main(void) {
    const double alpha = 3, beta = 2;
    FILL(a, 1), FILL(b, 2), FILL(c, 3);
    for (int i = 0; i < N; i++)
        for (int j = 0; j <= i; j++) c[i][j] *= beta;
#if defined VARIANT_ijk
    for (int i = 0; i < N; i++)
        for (int j = 0; j <= i; j++)
            for (int k = 0; k < M; k++) c[i][j] += alpha * (a[j][k] * b[i][k] + b[j][k] * a[i][k]);
#elif defined VARIANT_ikj
    for (int i = 0; i < N; i++)
        for (int k = 0; k < M; k++)
            for (int j = 0; j <= i; j++) c[i][j] += alpha * (a[j][k] * b[i][k] + b[j][k] * a[i][k]);
#else
    for (int jj = 0; jj < N; jj += T)
        for (int kk = 0; kk < M; kk += T)
            for (int i = jj; i < N; i++)
                for (int j = jj; j <= MIN(jj + T - 1, i); j++)
                    for (int k = kk; k < MIN(kk + T, M); k++)
                        c[i][j] += alpha * (a[j][k] * b[i][k] + b[j][k] * a[i][k]);
#endif
    RESULT(c);
    return print_results();
}
