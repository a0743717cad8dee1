// variants: ijk transposed tiled
#include "poly.h"
// G = (A B) (C D).
enum { N = SIZE(240, 43), T = 32 };
typedef double matrix[N][N];
static matrix a, b, c, d, e, f, g;
// Z = X Y.
static void multiply(matrix z, matrix x, matrix y) {
#if defined VARIANT_tiled
    for (int ii = 0; ii < N; ii += T)
        for (int kk = 0; kk < N; kk += T)
            for (int jj = 0; jj < N; jj += T)
                for (int i = ii; i < MIN(ii + T, N); i++)
                    for (int k = kk; k < MIN(kk + T, N); k++)
                        for (int j = jj; j < MIN(jj + T, N); j++) z[i][j] += x[i][k] * y[k][j];
#else
#if defined VARIANT_transposed
    static matrix t;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) t[j][i] = y[i][j];
#endif
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            double s = 0;
#if defined VARIANT_transposed
            for (int k = 0; k < N; k++) s += x[i][k] * t[j][k];
#else
            for (int k = 0; k < N; k++) s += x[i][k] * y[k][j];
#endif
            z[i][j] = s;
        }
#endif
}
int main(void) {
    FILL(a, 1), FILL(b, 2), FILL(c, 3), FILL(d, 4);
    multiply(e, a, b);
    multiply(f, c, d);
    multiply(g, e, f);
    RESULT(g);
    return print_results();
}
