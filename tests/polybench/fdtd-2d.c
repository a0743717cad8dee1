// variants: sweeps interchanged fused
#include "poly.h"
// An electromagnetic field in a plane by finite differences in time. `fused` updates hz a row behind ex and ey.
enum { NX = SIZE(300, 50), NY = SIZE(340, 60), STEPS = SIZE(40, 5) };
static double ex[NX][NY], ey[NX][NY], hz[NX][NY];
static inline void new_ey(int i, int j) { ey[i][j] -= 0.5 * (hz[i][j] - hz[i - 1][j]); }
static inline void new_ex(int i, int j) { ex[i][j] -= 0.5 * (hz[i][j] - hz[i][j - 1]); }
static inline void new_hz(int i, int j) { hz[i][j] -= 0.7 * (ex[i][j + 1] - ex[i][j] + ey[i + 1][j] - ey[i][j]); }
static void step(int t) {
    for (int j = 0; j < NY; j++) ey[0][j] = t;
#if defined VARIANT_sweeps
    for (int i = 1; i < NX; i++)
        for (int j = 0; j < NY; j++) new_ey(i, j);
    for (int i = 0; i < NX; i++)
        for (int j = 1; j < NY; j++) new_ex(i, j);
    for (int i = 0; i < NX - 1; i++)
        for (int j = 0; j < NY - 1; j++) new_hz(i, j);
#elif defined VARIANT_interchanged
    for (int j = 0; j < NY; j++)
        for (int i = 1; i < NX; i++) new_ey(i, j);
    for (int j = 1; j < NY; j++)
        for (int i = 0; i < NX; i++) new_ex(i, j);
    for (int j = 0; j < NY - 1; j++)
        for (int i = 0; i < NX - 1; i++) new_hz(i, j);
#else
    for (int j = 1; j < NY; j++) new_ex(0, j);
    for (int i = 1; i < NX; i++) {
        for (int j = 0; j < NY; j++) new_ey(i, j);
        for (int j = 1; j < NY; j++) new_ex(i, j);
        for (int j = 0; j < NY - 1; j++) new_hz(i - 1, j);
    }
#endif
}
int main(void) {
    FILL(ex, 1), FILL(ey, 2), FILL(hz, 3);
    for (int t = 0; t < STEPS; t++) step(t);
    RESULT(ex), RESULT(ey), RESULT(hz);
    return print_results();
}
