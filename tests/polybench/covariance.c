// variants: ijk kij tiled
#include "poly.h"
// Covariances of M quantities from N points.
enum { M = SIZE(320, 40), N = SIZE(360, 50), T = 16 };
static double data[N][M], mean[M], covariance[M][M];
static void centre(void) {
    for (int i = 0; i < N; i++)
        for (int j = 0; j < M; j++) mean[j] += data[i][j] / N;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < M; j++) data[i][j] -= mean[j];
}
int main(void) {
    FILL(data, 1);
    centre();
#if defined VARIANT_ijk
    for (int i = 0; i < M; i++)
        for (int j = i; j < M; j++) {
            double s = 0;
            for (int k = 0; k < N; k++) s += data[k][i] * data[k][j];
            covariance[i][j] = s;
        }
#elif defined VARIANT_kij
    for (int k = 0; k < N; k++)
        for (int i = 0; i < M; i++)
            for (int j = i; j < M; j++) covariance[i][j] += data[k][i] * data[k][j];
#else
    for (int kk = 0; kk < N; kk += T)
        for (int i = 0; i < M; i++)
            for (int k = kk; k < MIN(kk + T, N); k++)
                for (int j = i; j < M; j++) covariance[i][j] += data[k][i] * data[k][j];
#endif
    for (int i = 0; i < M; i++)
        for (int j = i; j < M; j++) covariance[j][i] = covariance[i][j] /= N - 1;
    RESULT(covariance);
    return print_results();
}
