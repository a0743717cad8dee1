// variants: divide multiply
#include "../pair.h"
enum { N = 2048, TIMES = 7500 };
// Quotients by a number known at run time: by divisions of 64 bits, or by a product with its inverse of 64 bits.
static uint32_t numbers[N];
static volatile uint64_t unknown = 48271;
int main(void) {
    for (int i = 0; i < N; i++) numbers[i] = random_number();
    uint64_t divisor = unknown, inverse = ~0ull / divisor + 1, sum = 0;
    for (uint32_t t = 0; t < TIMES; t++)
        for (int i = 0; i < N; i++) {
            uint64_t x = numbers[i] ^ t;
#ifdef VARIANT_divide
            sum += x / divisor;
#else
            sum += (uint64_t)(((unsigned __int128)x * inverse) >> 64);
#endif
        }
    printf("%llu %llu\n", (unsigned long long)sum, (unsigned long long)inverse);
}
