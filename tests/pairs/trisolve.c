// variants: rows columns
#include "pair.h"
enum { N = 2200, TIMES = 2 };
// Solves a lower triangular system in integers modulo a prime.
int main(void) {
    uint32_t *l = memory(sizeof(uint32_t) * N * N), *x = memory(sizeof(uint32_t) * N);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < i; j++) l[i * N + j] = (i + j) % 5;
    for (int t = 0; t < TIMES; t++) {
        for (int i = 0; i < N; i++) x[i] = i + t;
#ifdef VARIANT_rows
        for (int i = 0; i < N; i++) {
            uint32_t s = x[i];
            for (int j = 0; j < i; j++) s -= l[i * N + j] * x[j];
            x[i] = s;
        }
#else
        for (int j = 0; j < N; j++)
            for (int i = j + 1; i < N; i++) x[i] -= l[i * N + j] * x[j];
#endif
    }
    uint32_t sum = 0;
    for (int i = 0; i < N; i++) sum += x[i];
    printf("%u\n", sum);
}
