// variants: columns rows transposed
#include "poly.h"
#include <math.h>
// A = Q R by the modified Gram-Schmidt process: by columns of A as the book has it, with its inner loops along rows,
// or with A and Q stored by columns.
enum { M = SIZE(340, 50), N = SIZE(300, 40) };
static double r[N][N];
#if defined VARIANT_transposed
static double a[N][M], q[N][M];
#define A(i, j) a[j][i]
#define Q(i, j) q[j][i]
#else
static double a[M][N], q[M][N];
#define A(i, j) a[i][j]
#define Q(i, j) q[i][j]
#endif
int main(void) {
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) A(i, j) = (i == j ? 100 : 0) + random_number() % 16;
    for (int k = 0; k < N; k++) {
        double norm = 0;
        for (int i = 0; i < M; i++) norm += A(i, k) * A(i, k);
        r[k][k] = sqrt(norm);
        for (int i = 0; i < M; i++) Q(i, k) = A(i, k) / r[k][k];
#if defined VARIANT_rows
        for (int i = 0; i < M; i++)
            for (int j = k + 1; j < N; j++) r[k][j] += Q(i, k) * A(i, j);
        for (int i = 0; i < M; i++)
            for (int j = k + 1; j < N; j++) A(i, j) -= Q(i, k) * r[k][j];
#else
        for (int j = k + 1; j < N; j++) {
            double s = 0;
            for (int i = 0; i < M; i++) s += Q(i, k) * A(i, j);
            r[k][j] = s;
            for (int i = 0; i < M; i++) A(i, j) -= Q(i, k) * s;
        }
#endif
    }
    RESULT(r);
    return print_results();
}
