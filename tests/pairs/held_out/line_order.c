// variants: scattered forward
#include "../pair.h"
enum { LINES = 1 << 19, TIMES = 6 };
// All lines of 32 MiB once: in a scattered order that no prefetcher follows, or one after the other.
int main(void) {
    uint64_t *numbers = memory((size_t)LINES * 64);
    for (uint32_t i = 0; i < LINES; i++) numbers[i * 8] = i;
    uint64_t sum = 0;
    for (uint32_t t = 0; t < TIMES; t++)
        for (uint32_t i = 0; i < LINES; i++) {
#ifdef VARIANT_scattered
            uint32_t line = (i * 2654435761u + t) % LINES;
#else
            uint32_t line = (i + t) % LINES;
#endif
            sum += numbers[line * 8] ^ t;
        }
    printf("%llu\n", (unsigned long long)sum);
}
