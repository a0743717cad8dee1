// variants: fresh reused
#include "../pair.h"
enum { BLOCK = 1 << 17, BLOCKS = 300 };
// Blocks of 128 KiB are filled and summed: each in new memory, whose pages fault, or all in the same memory.
int main(void) {
    uint64_t sum = 0;
#ifdef VARIANT_fresh
    uint8_t *all = memory((size_t)BLOCK * BLOCKS);
#else
    uint8_t *all = memory(BLOCK);
#endif
    for (int b = 0; b < BLOCKS; b++) {
#ifdef VARIANT_fresh
        uint8_t *block = all + (size_t)b * BLOCK;
#else
        uint8_t *block = all;
#endif
        for (int i = 0; i < BLOCK; i++) block[i] = i * 5 + b;
        for (int i = 0; i < BLOCK; i++) sum += block[i];
    }
    printf("%llu\n", (unsigned long long)sum);
}
