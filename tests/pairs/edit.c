// variants: columns rows
#include "pair.h"
enum { N = 2600 };
static uint8_t a[N], b[N];
static int t[N + 1][N + 1];
int main(void) {
    for (int i = 0; i < N; i++) a[i] = random_number() % 4, b[i] = random_number() % 4;
    for (int i = 0; i <= N; i++) t[i][0] = t[0][i] = i;
#ifdef VARIANT_rows
    for (int i = 1; i <= N; i++)
        for (int j = 1; j <= N; j++) {
#else
    for (int j = 1; j <= N; j++)
        for (int i = 1; i <= N; i++) {
#endif
            int best = t[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            best = t[i - 1][j] + 1 < best ? t[i - 1][j] + 1 : best;
            t[i][j] = t[i][j - 1] + 1 < best ? t[i][j - 1] + 1 : best;
        }
    printf("%d\n", t[N][N]);
}
