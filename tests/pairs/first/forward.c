// variants: halves whole
#include "../pair.h"
enum { TIMES = 7000000 };
// A word is read right after it was written: as two halves, which cannot be forwarded to one load, or as a whole.
static volatile union { uint64_t whole; uint32_t half[2]; } slot;
int main(void) {
    uint64_t x = 88172645463325252ull;
    for (int t = 0; t < TIMES; t++) {
#ifdef VARIANT_halves
        slot.half[0] = (uint32_t)x;
        slot.half[1] = (uint32_t)(x >> 32);
#else
        slot.whole = x;
#endif
        x = slot.whole;
        x = x * 6364136223846793005ull + t;
    }
    printf("%llu\n", (unsigned long long)x);
}
