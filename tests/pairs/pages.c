// variants: chains tiles
#include "pair.h"
enum { N = 4096, B = 64, TIMES = 1 };
// A triangular number of pairs: all against all in one go, or tile by tile.
static float x[N * 16], f[N * 16];
int main(void) {
    for (int i = 0; i < N * 16; i++) x[i] = i % 3;
    for (int t = 0; t < TIMES; t++)
#ifdef VARIANT_chains
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) f[i * 16] += x[j * 16] * x[j * 16 + 8];
#else
        for (int jj = 0; jj < N; jj += B)
            for (int i = 0; i < N; i++)
                for (int j = jj; j < jj + B; j++) f[i * 16] += x[j * 16] * x[j * 16 + 8];
#endif
    double sum = 0;
    for (int i = 0; i < N; i++) sum += f[i * 16];
    printf("%.0f\n", sum);
}
