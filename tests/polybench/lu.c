// variants: ijk kij tiled
#include "poly.h"
// A = L U in the place of A, without pivots. Every element subtracts its products in the same order.
enum { N = SIZE(440, 70), T = SIZE(32, 16) };
static double a[N][N];
// Rows below k and above `below` lose their multiples of row k, in columns from `from` to `to`.
static inline void eliminate(int k, int below, int from, int to) {
    for (int i = k + 1; i < below; i++)
        for (int j = from; j < to; j++) a[i][j] -= a[i][k] * a[k][j];
}
static inline void divide(int k) {
    for (int i = k + 1; i < N; i++) a[i][k] /= a[k][k];
}
int main(void) {
    FILL(a, 1);
    for (int i = 0; i < N; i++) a[i][i] = 16 * N + i;
#if defined VARIANT_ijk
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            double s = a[i][j];
            for (int k = 0; k < MIN(i, j); k++) s -= a[i][k] * a[k][j];
            a[i][j] = j < i ? s / a[j][j] : s;
        }
#elif defined VARIANT_kij
    for (int k = 0; k < N; k++) divide(k), eliminate(k, N, k + 1, N);
#else
    for (int kk = 0; kk < N; kk += T) {
        const int end = MIN(kk + T, N);
        for (int k = kk; k < end; k++) divide(k), eliminate(k, N, k + 1, end);
        for (int k = kk; k < end; k++) eliminate(k, end, end, N);
        for (int jj = end; jj < N; jj += T)
            for (int i = end; i < N; i++)
                for (int k = kk; k < end; k++)
                    for (int j = jj; j < MIN(jj + T, N); j++) a[i][j] -= a[i][k] * a[k][j];
    }
#endif
    RESULT(a);
    return print_results();
}
