// variants: zyx xyz fused
#include "poly.h"
// Heat in a cube, from one array to the other and back. `fused` goes back a plane behind.
enum { N = SIZE(66, 18), STEPS = SIZE(5, 3) };
static double a[N][N][N], b[N][N][N];
static inline void point(double (*restrict to)[N][N], double (*restrict from)[N][N], int z, int y, int x) {
    const double twice = 2 * from[z][y][x];
    to[z][y][x] = 0.125 * (from[z + 1][y][x] - twice + from[z - 1][y][x]) +
                  0.125 * (from[z][y + 1][x] - twice + from[z][y - 1][x]) +
                  0.125 * (from[z][y][x + 1] - twice + from[z][y][x - 1]) + from[z][y][x];
}
static inline void plane(double (*restrict to)[N][N], double (*restrict from)[N][N], int z) {
    for (int y = 1; y < N - 1; y++)
        for (int x = 1; x < N - 1; x++) point(to, from, z, y, x);
}
static inline void sweep(double (*restrict to)[N][N], double (*restrict from)[N][N]) {
#if defined VARIANT_xyz
    for (int x = 1; x < N - 1; x++)
        for (int y = 1; y < N - 1; y++)
            for (int z = 1; z < N - 1; z++) point(to, from, z, y, x);
#else
    for (int z = 1; z < N - 1; z++) plane(to, from, z);
#endif
}
int main(void) {
    FILL(a, 1), FILL(b, 1);
    for (int t = 0; t < STEPS; t++) {
#if defined VARIANT_fused
        plane(b, a, 1);
        for (int z = 2; z < N - 1; z++) plane(b, a, z), plane(a, b, z - 1);
        plane(a, b, N - 2);
#else
        sweep(b, a), sweep(a, b);
#endif
    }
    RESULT(a), RESULT(b);
    return print_results();
}
