// variants: large small
#include "pair.h"
enum { N = 1500000 };
// Bits set, by a table of 2^22 entries or four look-ups in one of 256.
static uint32_t large[1 << 22];
static uint8_t small[256];
int main(void) {
    for (int i = 1; i < 256; i++) small[i] = small[i / 2] + (i & 1);
#ifdef VARIANT_large
    for (int i = 1; i < 1 << 22; i++) large[i] = large[i / 2] + (i & 1);
#endif
    uint64_t sum = 0;
    for (int i = 0; i < N; i++) {
        uint32_t x = random_number() >> 10;
#ifdef VARIANT_large
        sum += large[x];
#else
        sum += small[x & 255] + small[x >> 8 & 255] + small[x >> 16];
#endif
    }
    printf("%llu\n", (unsigned long long)sum);
}
