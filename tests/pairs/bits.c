// variants: bytes bits
#include "pair.h"
enum { N = 1 << 25, SETS = 1500000 };
// A set of numbers as bytes or as bits: random insertions and look-ups.
#ifdef VARIANT_bytes
static uint8_t set[N];
#define SET(i) (set[i] = 1)
#define HAS(i) set[i]
#else
static uint8_t set[N / 8];
#define SET(i) (set[(i) / 8] |= 1 << (i) % 8)
#define HAS(i) (set[(i) / 8] >> (i) % 8 & 1)
#endif
int main(void) {
    long found = 0;
    for (int i = 0; i < SETS; i++) {
        uint32_t a = random_number() % N, b = random_number() % N;
        SET(a);
        found += HAS(b);
    }
    printf("%ld\n", found);
}
