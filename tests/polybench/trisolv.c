// variants: rows columns packed
#include "poly.h"
// L x = b for several b: by rows of L, by its columns, or by rows of which only the triangle is stored.
enum { N = SIZE(1300, 75), TIMES = 4 };
static double x[N];
#if defined VARIANT_packed
static double l[N * (N + 1) / 2];
#define L(i, j) l[(i) * ((i) + 1) / 2 + (j)]
#else
static double l[N][N];
#define L(i, j) l[i][j]
#endif
int main(void) {
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < i; j++) L(i, j) = (i * 3 + j * 5) % 7;
        L(i, i) = 4 * N + i;
    }
    for (int t = 0; t < TIMES; t++) {
        for (int i = 0; i < N; i++) x[i] = i % 5 + t;
#if defined VARIANT_columns
        for (int j = 0; j < N; j++) {
            x[j] /= L(j, j);
            for (int i = j + 1; i < N; i++) x[i] -= L(i, j) * x[j];
        }
#else
        for (int i = 0; i < N; i++) {
            double s = x[i];
            for (int j = 0; j < i; j++) s -= L(i, j) * x[j];
            x[i] = s / L(i, i);
        }
#endif
        RESULT(x);
    }
    return print_results();
}
