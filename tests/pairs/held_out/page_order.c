// variants: across within
#include "../pair.h"
enum { PAGES = 8192, LINES = 32, TIMES = 7 };
// The same lines of 32 MiB: a line of each page in turn needs a translation each, all of one page's lines one for all.
int main(void) {
    uint8_t *bytes = memory((size_t)PAGES * 4096);
    uint32_t *page = shuffled(PAGES), *line = shuffled(LINES);
    uint64_t sum = 0;
    for (int t = 0; t < TIMES; t++) {
#ifdef VARIANT_across
        for (int l = 0; l < LINES; l++)
            for (int p = 0; p < PAGES; p++) {
#else
        for (int p = 0; p < PAGES; p++)
            for (int l = 0; l < LINES; l++) {
#endif
                uint8_t *at = &bytes[(size_t)page[p] * 4096 + line[l] * 128];
                sum += *at ^ (p & l);
                *at = p + l + t;
            }
    }
    printf("%llu\n", (unsigned long long)sum);
}
