// variants: rows right tiled
#include "poly.h"
#include <math.h>
// A = L L', L in the place of A: row by row, or with all that is right of a column updated by it, or by blocks of
// columns. Every element subtracts its products in the same order.
enum { N = SIZE(520, 70), T = SIZE(32, 16) };
static double a[N][N];
// What is right of column k in columns below `end` is updated by it.
static inline void eliminate(int k, int end) {
    static double column[N];
    a[k][k] = sqrt(a[k][k]);
    for (int i = k + 1; i < N; i++) {
        column[i] = a[i][k] /= a[k][k];
        for (int j = k + 1; j < MIN(end, i + 1); j++) a[i][j] -= a[i][k] * column[j];
    }
}
int main(void) {
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < i; j++) a[i][j] = (i * 3 + j * 5) % 7;
        a[i][i] = 7 * N + i;
    }
#if defined VARIANT_rows
    for (int i = 0; i < N; i++)
        for (int j = 0; j <= i; j++) {
            double s = a[i][j];
            for (int k = 0; k < j; k++) s -= a[i][k] * a[j][k];
            a[i][j] = j < i ? s / a[j][j] : sqrt(s);
        }
#elif defined VARIANT_right
    for (int k = 0; k < N; k++) eliminate(k, N);
#else
    for (int kk = 0; kk < N; kk += T) {
        const int end = MIN(kk + T, N);
        for (int k = kk; k < end; k++) eliminate(k, end);
        for (int i = end; i < N; i++)
            for (int j = end; j <= i; j++) {
                double s = a[i][j];
                for (int k = kk; k < end; k++) s -= a[i][k] * a[j][k];
                a[i][j] = s;
            }
    }
#endif
    RESULT(a);
    return print_results();
}
