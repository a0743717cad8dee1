// variants: kij kji tiled
#include "poly.h"
// The shortest paths between all nodes. `tiled`: for each diagonal tile first its own paths, then those of its row
// and column of tiles, then the others.
enum { N = SIZE(360, 50), T = SIZE(30, 10), INFINITE = 1 << 20 };
static int w[N][N];
static inline void shorten(int i, int j, int k) { w[i][j] = MIN(w[i][j], w[i][k] + w[k][j]); }
static inline void tile(int ii, int jj, int kk) {
    for (int k = kk; k < kk + T; k++)
        for (int i = ii; i < ii + T; i++)
            for (int j = jj; j < jj + T; j++) shorten(i, j, k);
}
int main(void) {
    _Static_assert(N % T == 0, "whole tiles");
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) w[i][j] = i == j ? 0 : random_number() % 16 ? INFINITE : 1 + (i * j) % 97;
#if defined VARIANT_kij
    for (int k = 0; k < N; k++)
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) shorten(i, j, k);
#elif defined VARIANT_kji
    for (int k = 0; k < N; k++)
        for (int j = 0; j < N; j++)
            for (int i = 0; i < N; i++) shorten(i, j, k);
#else
    for (int kk = 0; kk < N; kk += T) {
        tile(kk, kk, kk);
        for (int o = 0; o < N; o += T)
            if (o != kk) tile(kk, o, kk), tile(o, kk, kk);
        for (int ii = 0; ii < N; ii += T)
            for (int jj = 0; jj < N; jj += T)
                if (ii != kk && jj != kk) tile(ii, jj, kk);
    }
#endif
    RESULT(w);
    return print_results();
}
