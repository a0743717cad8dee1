// variants: ijk ikj tiled
#include "poly.h"
// C = alpha A B + beta C.
enum { NI = SIZE(330, 37), NJ = SIZE(350, 41), NK = SIZE(370, 45), T = 32 };
static double a[NI][NK], b[NK][NJ], c[NI][NJ];
int main(void) {
    const double alpha = 3, beta = 2;
    FILL(a, 1), FILL(b, 2), FILL(c, 3);
#if defined VARIANT_ijk
    for (int i = 0; i < NI; i++)
        for (int j = 0; j < NJ; j++) {
            double s = beta * c[i][j];
            for (int k = 0; k < NK; k++) s += alpha * a[i][k] * b[k][j];
            c[i][j] = s;
        }
#else
    for (int i = 0; i < NI; i++)
        for (int j = 0; j < NJ; j++) c[i][j] *= beta;
#if defined VARIANT_ikj
    for (int i = 0; i < NI; i++)
        for (int k = 0; k < NK; k++)
            for (int j = 0; j < NJ; j++) c[i][j] += alpha * a[i][k] * b[k][j];
#else
    for (int ii = 0; ii < NI; ii += T)
        for (int kk = 0; kk < NK; kk += T)
            for (int jj = 0; jj < NJ; jj += T)
                for (int i = ii; i < MIN(ii + T, NI); i++)
                    for (int k = kk; k < MIN(kk + T, NK); k++)
                        for (int j = jj; j < MIN(jj + T, NJ); j++) c[i][j] += alpha * a[i][k] * b[k][j];
#endif
#endif
    RESULT(c);
    return print_results();
}
