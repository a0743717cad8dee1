// variants: ijk ikj full
#include "poly.h"
// C = alpha A B + beta C with a symmetric A of which only the lower half is stored. `full` copies it into a square.
enum { M = SIZE(320, 37), N = SIZE(340, 41) };
static double a[M][M], b[M][N], c[M][N];
int main(void) {
    const double alpha = 3, beta = 2;
    FILL(b, 2), FILL(c, 3);
    for (int i = 0; i < M; i++)
        for (int j = 0; j <= i; j++) a[i][j] = (i * 5 + j * 3) % 11;
#if defined VARIANT_ijk
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            double s = 0;
            for (int k = 0; k < i; k++) {
                c[k][j] += alpha * b[i][j] * a[i][k];
                s += b[k][j] * a[i][k];
            }
            c[i][j] = beta * c[i][j] + alpha * b[i][j] * a[i][i] + alpha * s;
        }
#elif defined VARIANT_ikj
    static double s[N];
    for (int i = 0; i < M; i++) {
        for (int j = 0; j < N; j++) s[j] = 0;
        for (int k = 0; k < i; k++)
            for (int j = 0; j < N; j++) {
                c[k][j] += alpha * b[i][j] * a[i][k];
                s[j] += b[k][j] * a[i][k];
            }
        for (int j = 0; j < N; j++) c[i][j] = beta * c[i][j] + alpha * b[i][j] * a[i][i] + alpha * s[j];
    }
#else
    static double square[M][M];
    for (int i = 0; i < M; i++)
        for (int j = 0; j <= i; j++) square[i][j] = square[j][i] = a[i][j];
    for (int i = 0; i < M; i++) {
        for (int j = 0; j < N; j++) c[i][j] *= beta;
        for (int k = 0; k < M; k++)
            for (int j = 0; j < N; j++) c[i][j] += alpha * square[i][k] * b[k][j];
    }
#endif
    RESULT(c);
    return print_results();
}
