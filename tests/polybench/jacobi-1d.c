// variants: two_arrays in_place skewed
#include "poly.h"
// A line of means of three, again and again: from one array to the other and back, in one array with the old value of
// the point before kept, or in parts of the line through all steps, each step a point further left.
enum { N = SIZE(200000, 900), STEPS = SIZE(80, 12), PART = SIZE(2000, 50) };
static double a[N];
#if !defined VARIANT_in_place
static double b[N];
#endif
static inline void sweep(double *restrict to, const double *restrict from, int start, int end) {
    for (int i = start; i < end; i++) to[i] = 0.25 * (from[i - 1] + from[i + 1]) + 0.5 * from[i];
}
int main(void) {
    FILL(a, 1);
#if defined VARIANT_in_place
    for (int t = 0; t < STEPS; t++) {
        double before = a[0];
        for (int i = 1; i < N - 1; i++) {
            const double here = a[i];
            a[i] = 0.25 * (before + a[i + 1]) + 0.5 * here;
            before = here;
        }
    }
#else
    b[0] = a[0], b[N - 1] = a[N - 1];
#if defined VARIANT_two_arrays
    for (int t = 0; t < STEPS; t += 2) sweep(b, a, 1, N - 1), sweep(a, b, 1, N - 1);
#else
    for (int part = 1; part < N + STEPS; part += PART)
        for (int t = 0; t < STEPS; t++) {
            const int start = MAX(part - t, 1), end = MIN(part + PART - t, N - 1);
            if (t % 2 == 0) sweep(b, a, start, end);
            else sweep(a, b, start, end);
        }
#endif
#endif
    RESULT(a);
    return print_results();
}
