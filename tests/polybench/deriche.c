// variants: columns rows lean
#include "poly.h"
// Deriche's smoothing filter (alpha 0.25): a recursion from both ends along rows, then along columns. The second goes
// down columns, or along rows with the recursion between rows; `lean` also keeps only lines of what comes backwards.
enum { H = SIZE(600, 60), W = SIZE(800, 70) };
static float image[H][W], one[H][W];
#if defined VARIANT_lean
static float two[3][W];
#define TWO(i) two[(i) % 3]
#else
static float two[H][W];
#define TWO(i) two[i]
#endif
static const float E = 0.7788008f, ALPHA = 0.25f;
#define K ((1 - E) * (1 - E) / (1 + 2 * ALPHA * E - E * E))
#define AT(row, i, j) ((i) < 0 || (i) >= H || (j) < 0 || (j) >= W ? 0 : row[j])
static inline void ahead(float (*to)[W], float (*from)[W], int i, int j, int di, int dj) {
    const int i1 = i - di, j1 = j - dj, i2 = i1 - di, j2 = j1 - dj;
    to[i][j] = K * from[i][j] + K * E * (ALPHA - 1) * AT(from[i1], i1, j1) + 2 * E * AT(to[i1], i1, j1) -
               E * E * AT(to[i2], i2, j2);
}
static inline void back(float (*to)[W], float (*from)[W], int i, int j, int di, int dj) {
    const int i1 = i + di, j1 = j + dj, i2 = i1 + di, j2 = j1 + dj;
    TWO(i)[j] = K * E * (ALPHA + 1) * AT(from[i1], i1, j1) - K * E * E * AT(from[i2], i2, j2) +
                2 * E * AT(TWO(i1), i1, j1) - E * E * AT(TWO(i2), i2, j2);
#if defined VARIANT_lean
    to[i][j] += TWO(i)[j];
#endif
}
static void add(float (*to)[W]) {
#if !defined VARIANT_lean
    for (int i = 0; i < H; i++)
        for (int j = 0; j < W; j++) to[i][j] += two[i][j];
#endif
}
int main(void) {
    for (int i = 0; i < H; i++)
        for (int j = 0; j < W; j++) image[i][j] = (uint32_t)(i * W + j) * 2654435761u >> 24;
    for (int i = 0; i < H; i++) {
        for (int j = 0; j < W; j++) ahead(one, image, i, j, 0, 1);
        for (int j = W; j-- > 0;) back(one, image, i, j, 0, 1);
    }
    add(one);
#if defined VARIANT_columns
    for (int j = 0; j < W; j++) {
        for (int i = 0; i < H; i++) ahead(image, one, i, j, 1, 0);
        for (int i = H; i-- > 0;) back(image, one, i, j, 1, 0);
    }
#else
    for (int i = 0; i < H; i++)
        for (int j = 0; j < W; j++) ahead(image, one, i, j, 1, 0);
    for (int i = H; i-- > 0;)
        for (int j = 0; j < W; j++) back(image, one, i, j, 1, 0);
#endif
    add(image);
    RESULT(image);
    return print_results();
}
