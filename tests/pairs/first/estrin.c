// variants: horner estrin
#include "../pair.h"
enum { TIMES = 2000000 };
// A polynomial of degree 7, each value the next argument: Horner is one chain, Estrin three levels of products.
int main(void) {
    uint64_t c[8], x = 3;
    for (int i = 0; i < 8; i++) c[i] = random_number() | 1;
    for (int t = 0; t < TIMES; t++) {
#ifdef VARIANT_horner
        uint64_t y = c[7];
        for (int i = 6; i >= 0; i--) y = y * x + c[i];
#else
        uint64_t x2 = x * x, x4 = x2 * x2;
        uint64_t low = (c[0] + c[1] * x) + (c[2] + c[3] * x) * x2;
        uint64_t high = (c[4] + c[5] * x) + (c[6] + c[7] * x) * x2;
        uint64_t y = low + high * x4;
#endif
        x = y ^ (y >> 29);
    }
    printf("%llu\n", (unsigned long long)x);
}
