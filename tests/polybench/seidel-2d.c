// variants: plain split skewed
#include "poly.h"
// Means of nine in a square, in place (Gauss-Seidel). `split` adds up a line of what is not to the left first; `skewed`
// takes bands of rows through all steps, each step a row further up.
enum { N = SIZE(400, 60), STEPS = SIZE(8, 6), BAND = SIZE(16, 8) };
static double a[N][N];
static inline double others(int i, int j) {
    return (a[i - 1][j - 1] + a[i - 1][j] + a[i - 1][j + 1]) + (a[i + 1][j - 1] + a[i + 1][j] + a[i + 1][j + 1]) +
           (a[i][j] + a[i][j + 1]);
}
static inline void row(int i) {
#if defined VARIANT_split
    static double line[N];
    for (int j = 1; j < N - 1; j++) line[j] = others(i, j);
    for (int j = 1; j < N - 1; j++) a[i][j] = (line[j] + a[i][j - 1]) / 9;
#else
    for (int j = 1; j < N - 1; j++) a[i][j] = (others(i, j) + a[i][j - 1]) / 9;
#endif
}
int main(void) {
    FILL(a, 1);
#if defined VARIANT_skewed
    for (int band = 1; band < N + STEPS; band += BAND)
        for (int t = 0; t < STEPS; t++)
            for (int i = MAX(band - t, 1); i < MIN(band + BAND - t, N - 1); i++) row(i);
#else
    for (int t = 0; t < STEPS; t++)
        for (int i = 1; i < N - 1; i++) row(i);
#endif
    RESULT(a);
    return print_results();
}
