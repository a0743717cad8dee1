// variants: kij kji
#include "pair.h"
enum { N = 320 };
static int d[N][N];
int main(void) {
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) d[i][j] = (i * 37 + j * 101) % 1000 + 1;
    for (int k = 0; k < N; k++)
#ifdef VARIANT_kij
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
#else
        for (int j = 0; j < N; j++)
            for (int i = 0; i < N; i++)
#endif
                if (d[i][k] + d[k][j] < d[i][j]) d[i][j] = d[i][k] + d[k][j];
    long sum = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) sum += d[i][j];
    printf("%ld\n", sum);
}
