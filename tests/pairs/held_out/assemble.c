// variants: memory registers
#include "../pair.h"
enum { TIMES = 5000000 };
// Four bytes become a word: stored one by one and loaded as a word (the load waits for them), or shifted in registers.
static volatile union { uint32_t word; uint8_t byte[4]; } slot;
int main(void) {
    uint32_t x = 2463534242u;
    for (int t = 0; t < TIMES; t++) {
        uint8_t a = x >> 5, b = x >> 9, c = x >> 13, d = x >> 23;
#ifdef VARIANT_memory
        slot.byte[0] = a, slot.byte[1] = b, slot.byte[2] = c, slot.byte[3] = d;
        uint32_t word = slot.word;
#else
        uint32_t word = a | b << 8 | c << 16 | (uint32_t)d << 24;
        slot.word = word;
#endif
        x = word * 1664525u + 1013904223u;
    }
    printf("%u\n", x);
}
