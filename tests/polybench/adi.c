// variants: arrays line interchanged
#include "poly.h"
// Heat in a square by alternating directions: a tridiagonal system for each column, then one for each row. Their
// factors go to arrays p and q, or to a line that is used again; `interchanged` solves all columns together, by rows.
enum { N = SIZE(340, 50), STEPS = SIZE(6, 3) };
static double u[N][N], v[N][N];
#if defined VARIANT_line
static double p[1][N], q[1][N];
#define OF(p, i, j) p[0][j]
#else
static double p[N][N], q[N][N];
#define OF(p, i, j) p[i][j]
#endif
static const double A = -0.5 * N * N / STEPS * 0.002, D = -0.5 * N * N / STEPS * 0.001;
// One step of the elimination: from the factors before it and three values of the last half step.
#define STEP(p, q, p0, q0, a, d, x0, x1, x2) \
    (p = -(a) / ((a) * (p0) + 1 - 2 * (a)), \
     q = (-(d) * (x0) + (1 + 2 * (d)) * (x1) - (d) * (x2) - (a) * (q0)) / ((a) * (p0) + 1 - 2 * (a)))
static void columns(void) {
#if defined VARIANT_interchanged
    for (int i = 1; i < N - 1; i++) v[0][i] = v[N - 1][i] = 1, p[0][i] = 0, q[0][i] = 1;
    for (int j = 1; j < N - 1; j++)
        for (int i = 1; i < N - 1; i++)
            STEP(p[j][i], q[j][i], p[j - 1][i], q[j - 1][i], A, D, u[j][i - 1], u[j][i], u[j][i + 1]);
    for (int j = N - 2; j > 0; j--)
        for (int i = 1; i < N - 1; i++) v[j][i] = p[j][i] * v[j + 1][i] + q[j][i];
#else
    for (int i = 1; i < N - 1; i++) {
        v[0][i] = v[N - 1][i] = 1, OF(p, i, 0) = 0, OF(q, i, 0) = 1;
        for (int j = 1; j < N - 1; j++)
            STEP(OF(p, i, j), OF(q, i, j), OF(p, i, j - 1), OF(q, i, j - 1), A, D, u[j][i - 1], u[j][i], u[j][i + 1]);
        for (int j = N - 2; j > 0; j--) v[j][i] = OF(p, i, j) * v[j + 1][i] + OF(q, i, j);
    }
#endif
}
static void rows(void) {
    for (int i = 1; i < N - 1; i++) {
        u[i][0] = u[i][N - 1] = 1, OF(p, i, 0) = 0, OF(q, i, 0) = 1;
        for (int j = 1; j < N - 1; j++)
            STEP(OF(p, i, j), OF(q, i, j), OF(p, i, j - 1), OF(q, i, j - 1), D, A, v[i - 1][j], v[i][j], v[i + 1][j]);
        for (int j = N - 2; j > 0; j--) u[i][j] = OF(p, i, j) * u[i][j + 1] + OF(q, i, j);
    }
}
int main(void) {
    FILL(u, 1);
    for (int t = 0; t < STEPS; t++) columns(), rows();
    RESULT(u), RESULT(v);
    return print_results();
}
