// variants: direct separable
#include "pair.h"
enum { N = 700, K = 9, R = K / 2 };
static int in[N][N], mid[N][N], out[N][N];
int main(void) {
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) in[i][j] = (i * j) % 17;
#ifdef VARIANT_direct
    for (int i = R; i < N - R; i++)
        for (int j = R; j < N - R; j++) {
            int s = 0;
            for (int y = -R; y <= R; y++)
                for (int x = -R; x <= R; x++) s += in[i + y][j + x];
            out[i][j] = s;
        }
#else
    for (int i = 0; i < N; i++)
        for (int j = R; j < N - R; j++) {
            int s = 0;
            for (int x = -R; x <= R; x++) s += in[i][j + x];
            mid[i][j] = s;
        }
    for (int i = R; i < N - R; i++)
        for (int j = R; j < N - R; j++) {
            int s = 0;
            for (int y = -R; y <= R; y++) s += mid[i + y][j];
            out[i][j] = s;
        }
#endif
    long sum = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) sum += out[i][j];
    printf("%ld\n", sum);
}
