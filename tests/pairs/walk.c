// variants: row column
#include "pair.h"
enum { N = 2000, TIMES = 3 };
int main(void) {
    int *a = memory(sizeof(int) * N * N);
    for (int i = 0; i < N * N; i++) a[i] = i & 7;
    long sum = 0;
    for (int t = 0; t < TIMES; t++)
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
#ifdef VARIANT_row
                sum += a[i * N + j] ^ t;
#else
                sum += a[j * N + i] ^ t;
#endif
    printf("%ld\n", sum);
}
