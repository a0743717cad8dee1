// variants: elsewhere in_place
#include "../pair.h"
enum { N = 5 << 20, TIMES = 10 };
// Steps over 20 MiB: results stored elsewhere bring those lines in first and need twice the room; in place they do not.
static uint32_t one[N];
#ifdef VARIANT_elsewhere
static uint32_t two[N];
#else
#define two one
#endif
int main(void) {
    uint32_t *from = one, *to = two;
    for (uint32_t i = 0; i < N; i++) from[i] = i * 2654435761u;
    for (int t = 0; t < TIMES; t++) {
        for (int i = 0; i < N; i++) to[i] = (from[i] >> 1) + t;
        uint32_t *other = from;
        from = to, to = other;
    }
    uint64_t sum = 0;
    for (int i = 0; i < N; i++) sum += from[i];
    printf("%llu\n", (unsigned long long)sum);
}
