// variants: ijk ikj transposed
#include "poly.h"
#include <math.h>
// Correlations of M quantities from N points.
enum { M = SIZE(320, 40), N = SIZE(360, 50) };
static double data[N][M], mean[M], deviation[M], correlation[M][M];
static void standardise(void) {
    for (int i = 0; i < N; i++)
        for (int j = 0; j < M; j++) mean[j] += data[i][j] / N;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < M; j++) deviation[j] += (data[i][j] - mean[j]) * (data[i][j] - mean[j]) / N;
    for (int j = 0; j < M; j++) deviation[j] = deviation[j] > 0.01 ? sqrt(N * deviation[j]) : 1;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < M; j++) data[i][j] = (data[i][j] - mean[j]) / deviation[j];
}
int main(void) {
    FILL(data, 1);
    standardise();
#if defined VARIANT_ijk
    for (int i = 0; i < M; i++)
        for (int j = i + 1; j < M; j++) {
            double s = 0;
            for (int k = 0; k < N; k++) s += data[k][i] * data[k][j];
            correlation[i][j] = s;
        }
#elif defined VARIANT_ikj
    for (int i = 0; i < M; i++)
        for (int k = 0; k < N; k++)
            for (int j = i + 1; j < M; j++) correlation[i][j] += data[k][i] * data[k][j];
#else
    static double t[M][N];
    for (int i = 0; i < N; i++)
        for (int j = 0; j < M; j++) t[j][i] = data[i][j];
    for (int i = 0; i < M; i++)
        for (int j = i + 1; j < M; j++) {
            double s = 0;
            for (int k = 0; k < N; k++) s += t[i][k] * t[j][k];
            correlation[i][j] = s;
        }
#endif
    for (int i = 0; i < M; i++) {
        correlation[i][i] = 1;
        for (int j = i + 1; j < M; j++) correlation[j][i] = correlation[i][j];
    }
    RESULT(correlation);
    return print_results();
}
