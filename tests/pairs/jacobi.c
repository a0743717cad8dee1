// variants: rows columns
#include "pair.h"
enum { N = 1500, TIMES = 2 };
static void sweep(int *restrict out, const int *restrict in) {
#ifdef VARIANT_rows
    for (int i = 1; i < N - 1; i++)
        for (int j = 1; j < N - 1; j++)
#else
    for (int j = 1; j < N - 1; j++)
        for (int i = 1; i < N - 1; i++)
#endif
            out[i * N + j] = (in[i * N + j] + in[i * N + j - 1] + in[i * N + j + 1] + in[(i - 1) * N + j] + in[(i + 1) * N + j]) / 5;
}
int main(void) {
    int *a = memory(sizeof(int) * N * N), *b = memory(sizeof(int) * N * N);
    for (int i = 0; i < N * N; i++) a[i] = i % 1000;
    for (int t = 0; t < TIMES; t += 2) sweep(b, a), sweep(a, b);
    long sum = 0;
    for (int i = 0; i < N * N; i++) sum += a[i];
    printf("%ld\n", sum);
}
