// variants: powers horner
#include "pair.h"
enum { N = 60000, DEGREE = 40 };
static uint64_t coefficient[DEGREE];
int main(void) {
    for (int k = 0; k < DEGREE; k++) coefficient[k] = k * 3 + 1;
    uint64_t sum = 0;
    for (uint64_t x = 0; x < N; x++) {
        uint64_t y = 0;
#ifdef VARIANT_powers
        for (int k = 0; k < DEGREE; k++) {
            uint64_t power = 1;
            for (int p = 0; p < k; p++) power *= x;
            y += coefficient[k] * power;
        }
#else
        for (int k = DEGREE; k-- > 0;) y = y * x + coefficient[k];
#endif
        sum ^= y;
    }
    printf("%llu\n", (unsigned long long)sum);
}
