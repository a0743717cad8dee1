// variants: doubling one_pass
#include "pair.h"
enum { N = 1 << 19 };
int main(void) {
    uint32_t *a = memory(sizeof(uint32_t) * N), *b = memory(sizeof(uint32_t) * N);
    for (uint32_t i = 0; i < N; i++) a[i] = i % 9;
    for (int t = 0; t < 5; t++) {
#ifdef VARIANT_doubling
        for (uint32_t d = 1; d < N; d *= 2) {
            for (uint32_t i = 0; i < N; i++) b[i] = a[i] + (i >= d ? a[i - d] : 0);
            uint32_t *other = a;
            a = b, b = other;
        }
#else
        for (uint32_t i = 1; i < N; i++) a[i] += a[i - 1];
#endif
    }
    printf("%u\n", a[N - 1]);
}
