// variants: dots lines cube
#include "poly.h"
// A[r][q][p] = the sum over s of A[r][q][s] C[s][p]: each element at once, or a line at a time; into one line that
// goes back to A, or into a second array of A's size that goes back at the end.
enum { R = SIZE(30, 9), Q = SIZE(40, 10), P = SIZE(150, 25) };
static double a[R][Q][P], c[P][P];
static inline void line(double *to, const double *from) {
    memset(to, 0, P * sizeof *to);
#if defined VARIANT_dots
    for (int p = 0; p < P; p++)
        for (int s = 0; s < P; s++) to[p] += from[s] * c[s][p];
#else
    for (int s = 0; s < P; s++)
        for (int p = 0; p < P; p++) to[p] += from[s] * c[s][p];
#endif
}
int main(void) {
    FILL(a, 1), FILL(c, 2);
#if defined VARIANT_cube
    static double sums[R][Q][P];
    for (int r = 0; r < R; r++)
        for (int q = 0; q < Q; q++) line(sums[r][q], a[r][q]);
    memcpy(a, sums, sizeof a);
#else
    static double sums[P];
    for (int r = 0; r < R; r++)
        for (int q = 0; q < Q; q++) {
            line(sums, a[r][q]);
            memcpy(a[r][q], sums, sizeof sums);
        }
#endif
    RESULT(a);
    return print_results();
}
