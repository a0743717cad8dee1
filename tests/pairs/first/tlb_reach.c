// variants: spread dense
#include "../pair.h"
enum { LINES = 4096, TIMES = 3000 };
// 4096 lines are read again and again: one of each page (more pages than the TLB holds), or 64 of each page.
#ifdef VARIANT_spread
#define PLACE(i) ((i) * 4096 + (i) / 64 % 64 * 64)
#else
#define PLACE(i) ((i) * 64)
#endif
int main(void) {
    uint8_t *bytes = memory(4096 * LINES);
    uint32_t *order = shuffled(LINES);
    for (int i = 0; i < LINES; i++) bytes[PLACE(i)] = order[i];
    for (int i = 0; i < LINES; i++) order[i] = PLACE(order[i]);
    uint64_t sum = 0;
    for (int t = 0; t < TIMES; t++)
        for (int i = 0; i < LINES; i++) sum += bytes[order[i]] ^ t;
    printf("%llu\n", (unsigned long long)sum);
}
