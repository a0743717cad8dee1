// variants: table two_rows
#include "pair.h"
enum { N = 3000 };
static uint8_t a[N], b[N];
#ifdef VARIANT_table
static int t[N + 1][N + 1];
#define ROW(i) t[i]
#else
static int t[2][N + 1];
#define ROW(i) t[(i) & 1]
#endif
int main(void) {
    for (int i = 0; i < N; i++) a[i] = random_number() % 4, b[i] = random_number() % 4;
    for (int i = 1; i <= N; i++)
        for (int j = 1; j <= N; j++) {
            int up = ROW(i - 1)[j], left = ROW(i)[j - 1];
            ROW(i)[j] = a[i - 1] == b[j - 1] ? ROW(i - 1)[j - 1] + 1 : up > left ? up : left;
        }
    printf("%d\n", ROW(N)[N]);
}
