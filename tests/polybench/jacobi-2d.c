// variants: rows columns skewed
#include "poly.h"
// Means of five in a square, from one array to the other and back: along rows, along columns, or in bands of rows
// through all steps, each step a row further up.
enum { N = SIZE(360, 60), STEPS = SIZE(60, 6), BAND = SIZE(16, 8) };
static double a[N][N], b[N][N];
static inline void sweep(double (*restrict to)[N], double (*restrict from)[N], int start, int end) {
#if defined VARIANT_columns
    for (int j = 1; j < N - 1; j++)
        for (int i = start; i < end; i++)
#else
    for (int i = start; i < end; i++)
        for (int j = 1; j < N - 1; j++)
#endif
            to[i][j] = 0.2 * (from[i][j] + from[i][j - 1] + from[i][j + 1] + from[i + 1][j] + from[i - 1][j]);
}
static inline void step(int t, int start, int end) {
    if (t % 2 == 0) sweep(b, a, start, end);
    else sweep(a, b, start, end);
}
int main(void) {
    FILL(a, 1), FILL(b, 1);
#if defined VARIANT_skewed
    for (int band = 1; band < N + STEPS; band += BAND)
        for (int t = 0; t < STEPS; t++) step(t, MAX(band - t, 1), MIN(band + BAND - t, N - 1));
#else
    for (int t = 0; t < STEPS; t++) step(t, 1, N - 1);
#endif
    RESULT(a), RESULT(b);
    return print_results();
}
