// variants: words bytes
#include "pair.h"
enum { N = 1200, STEPS = 4 };
#ifdef VARIANT_words
typedef uint32_t Cell;
#else
typedef uint8_t Cell;
#endif
static Cell grids[2][N][N];
int main(void) {
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) grids[0][i][j] = random_number() >> 20 & 1;
    for (int s = 0; s < STEPS; s++) {
        Cell(*a)[N] = grids[s & 1], (*b)[N] = grids[~s & 1];
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < N - 1; j++) {
                Cell n = a[i - 1][j - 1] + a[i - 1][j] + a[i - 1][j + 1] + a[i][j - 1] + a[i][j + 1] + a[i + 1][j - 1] + a[i + 1][j] +
                         a[i + 1][j + 1];
                b[i][j] = (n == 3) | ((n == 2) & a[i][j]);
            }
    }
    long alive = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) alive += grids[STEPS & 1][i][j];
    printf("%ld\n", alive);
}
