// variants: power padded
#include "../pair.h"
enum { N = 256, TIMES = 2 };
// A matrix product down the columns of the second: rows of 1024 bytes share few sets, 64 bytes more spread them.
#ifdef VARIANT_power
enum { WIDTH = N };
#else
enum { WIDTH = N + 16 };
#endif
static uint32_t a[N][WIDTH], b[N][WIDTH], c[N][WIDTH];
int main(void) {
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) a[i][j] = random_number(), b[i][j] = random_number();
    for (int t = 0; t < TIMES; t++)
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) {
                uint32_t s = t;
                for (int k = 0; k < N; k++) s += a[i][k] * b[k][j];
                c[i][j] += s;
            }
    uint32_t sum = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) sum = sum * 31 + c[i][j];
    printf("%u\n", sum);
}
