// variants: table copy in_place
#include "poly.h"
// The Levinson-Durbin recursion for a symmetric Toeplitz system: with all steps kept as rows of a table, with one
// vector that is copied back at each step, or with one vector whose two ends are updated together.
enum { N = SIZE(2800, 90) };
static double r[N], y[N];
#if defined VARIANT_table
static double steps[N][N];
#elif defined VARIANT_copy
static double next[N];
#endif
int main(void) {
    for (int i = 0; i < N; i++) r[i] = 0.25 / ((i + 1.0) * (i + 2.0));
    double alpha = -r[0], beta = 1;
    double *now = y;
    now[0] = alpha;
    for (int k = 1; k < N; k++) {
        beta *= 1 - alpha * alpha;
        double sum = 0;
        for (int i = 0; i < k; i++) sum += r[k - i - 1] * now[i];
        alpha = -(r[k] + sum) / beta;
#if defined VARIANT_table
        for (int i = 0; i < k; i++) steps[k][i] = now[i] + alpha * now[k - i - 1];
        now = steps[k];
#elif defined VARIANT_copy
        for (int i = 0; i < k; i++) next[i] = now[i] + alpha * now[k - i - 1];
        for (int i = 0; i < k; i++) now[i] = next[i];
#else
        for (int i = 0, j = k - 1; i <= j; i++, j--) {
            const double first = now[i], last = now[j];
            now[i] = first + alpha * last;
            now[j] = last + alpha * first;
        }
#endif
        now[k] = alpha;
    }
    result(now, sizeof y);
    return print_results();
}
