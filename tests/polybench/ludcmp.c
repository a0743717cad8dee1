// variants: rows columns elimination
#include "poly.h"
// A x = b by A = L U, L y = b, U x = y: all by rows, all by columns, or with b as one more column of A while rows are
// eliminated. Every element subtracts its products in the same order.
enum { N = SIZE(420, 70) };
static double a[N][N], x[N];
static void forward_by_rows(void) {
    for (int i = 0; i < N; i++)
        for (int j = 0; j < i; j++) x[i] -= a[i][j] * x[j];
}
static void back_by_rows(void) {
    for (int i = N; i-- > 0; x[i] /= a[i][i])
        for (int j = N; --j > i;) x[i] -= a[i][j] * x[j];
}
static void forward_by_columns(void) {
    for (int j = 0; j < N; j++)
        for (int i = j + 1; i < N; i++) x[i] -= a[i][j] * x[j];
}
static void back_by_columns(void) {
    for (int j = N; j-- > 0;) {
        x[j] /= a[j][j];
        for (int i = 0; i < j; i++) x[i] -= a[i][j] * x[j];
    }
}
int main(void) {
    FILL(a, 1), FILL(x, 2);
    for (int i = 0; i < N; i++) a[i][i] = 16 * N + i;
#if defined VARIANT_rows
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            double s = a[i][j];
            for (int k = 0; k < MIN(i, j); k++) s -= a[i][k] * a[k][j];
            a[i][j] = j < i ? s / a[j][j] : s;
        }
    forward_by_rows(), back_by_rows();
#elif defined VARIANT_columns
    for (int j = 0; j < N; j++) {
        for (int k = 0; k < j; k++)
            for (int i = k + 1; i < N; i++) a[i][j] -= a[i][k] * a[k][j];
        for (int i = j + 1; i < N; i++) a[i][j] /= a[j][j];
    }
    forward_by_columns(), back_by_columns();
#else
    for (int k = 0; k < N; k++)
        for (int i = k + 1; i < N; i++) {
            const double factor = a[i][k] /= a[k][k];
            for (int j = k + 1; j < N; j++) a[i][j] -= factor * a[k][j];
            x[i] -= factor * x[k];
        }
    back_by_rows();
#endif
    RESULT(x), RESULT(a);
    return print_results();
}
