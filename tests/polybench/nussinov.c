// variants: rows diagonals mirrored
#include "poly.h"
// The most base pairs in a folded RNA, for all parts of the sequence from i to j: row by row from below, by the length
// of the part, or with each number also at [j][i], so that both factors of a split lie along rows.
enum { N = SIZE(560, 90) };
static int base[N], best[N][N];
#if defined VARIANT_mirrored
#define FROM(k, j) best[j][k]
#else
#define FROM(k, j) best[k][j]
#endif
static inline void part(int i, int j) {
    int most = MAX(best[i][j - 1], FROM(i + 1, j));
    if (i + 1 < j) most = MAX(most, best[i + 1][j - 1] + (base[i] + base[j] == 3));
    for (int k = i + 1; k < j; k++) most = MAX(most, best[i][k] + FROM(k + 1, j));
    best[i][j] = most;
#if defined VARIANT_mirrored
    best[j][i] = most;
#endif
}
int main(void) {
    for (int i = 0; i < N; i++) base[i] = random_number() >> 30;
#if defined VARIANT_diagonals
    for (int length = 1; length < N; length++)
        for (int i = 0; i + length < N; i++) part(i, i + length);
#else
    for (int i = N; i-- > 0;)
        for (int j = i + 1; j < N; j++) part(i, j);
#endif
    for (int i = 0; i < N; i++) result(best[i] + i, (N - i) * sizeof(int));
    return print_results();
}
