// variants: remainders shifts
#include "../pair.h"
enum { PAIRS = 245000 };
// Greatest common divisors: Euclid by some 18 divisions, or by twice as many subtractions and shifts.
static uint32_t gcd(uint32_t a, uint32_t b) {
#ifdef VARIANT_remainders
    while (b) {
        uint32_t r = a % b;
        a = b, b = r;
    }
    return a;
#else
    int twos = __builtin_ctz(a | b);
    a >>= __builtin_ctz(a);
    while (b) {
        b >>= __builtin_ctz(b);
        uint32_t less = a < b ? a : b;
        b = a < b ? b - a : a - b, a = less;
    }
    return a << twos;
#endif
}
int main(void) {
    uint64_t sum = 0;
    for (int i = 0; i < PAIRS; i++) {
        uint32_t a = random_number() | 1u << 8, b = random_number() | 1u << 8;
        sum += gcd(a, b);
    }
    printf("%llu\n", (unsigned long long)sum);
}
