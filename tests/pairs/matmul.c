// variants: ijk ikj jki tiled
#include "pair.h"
enum { N = 240, T = 60 };
static double a[N][N], b[N][N], c[N][N];
int main(void) {
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) a[i][j] = (i + j) % 5, b[i][j] = (i * j) % 7;
#if defined VARIANT_ijk
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            double s = 0;
            for (int k = 0; k < N; k++) s += a[i][k] * b[k][j];
            c[i][j] = s;
        }
#elif defined VARIANT_ikj
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++)
            for (int j = 0; j < N; j++) c[i][j] += a[i][k] * b[k][j];
#elif defined VARIANT_jki
    for (int j = 0; j < N; j++)
        for (int k = 0; k < N; k++)
            for (int i = 0; i < N; i++) c[i][j] += a[i][k] * b[k][j];
#else
    for (int kk = 0; kk < N; kk += T)
        for (int i = 0; i < N; i++)
            for (int k = kk; k < kk + T; k++)
                for (int j = 0; j < N; j++) c[i][j] += a[i][k] * b[k][j];
#endif
    double sum = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) sum += c[i][j];
    printf("%.0f\n", sum);
}
