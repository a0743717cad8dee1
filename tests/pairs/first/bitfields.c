// variants: fields words
#include "../pair.h"
enum { N = 1024, TIMES = 24000 };
// Counters as bit fields of one word, or as words: fields are masked and shifted, but many more fit into a register.
#ifdef VARIANT_fields
typedef struct { uint32_t a : 3, b : 5, c : 11, d : 13; } Counters;
#else
typedef struct { uint32_t a, b, c, d; } Counters;
#endif
static Counters all[N];
int main(void) {
    for (int t = 0; t < TIMES; t++)
        for (int i = 0; i < N; i++) {
            all[i].b = (all[i].b + t) & 31;
            all[i].d = (all[i].d + all[i].b) & 8191;
        }
    uint64_t sum = 0;
    for (int i = 0; i < N; i++) sum += all[i].a + all[i].b + all[i].c + all[i].d;
    printf("%llu\n", (unsigned long long)sum);
}
