// variants: careless careful
#include "../pair.h"
enum { N = 1 << 20, TIMES = 7 };
// The same fields in an order that needs 19 bytes of padding (40 bytes), or in one that needs 3 (24 bytes).
#ifdef VARIANT_careless
typedef struct { uint8_t kind; uint64_t key; uint8_t level; uint32_t count; uint16_t port; uint64_t value; } Entry;
#else
typedef struct { uint64_t key, value; uint32_t count; uint16_t port; uint8_t kind, level; } Entry;
#endif
int main(void) {
    Entry *all = memory(sizeof(Entry) * N);
    for (int i = 0; i < N; i++) all[i].key = i, all[i].value = i * 5, all[i].kind = i % 7, all[i].port = i;
    uint64_t sum = 0;
    for (int t = 0; t < TIMES; t++)
        for (int i = 0; i < N; i++) {
            all[i].count += all[i].kind ^ t;
            sum += (all[i].key ^ all[i].value) + all[i].count + all[i].port + all[i].level;
        }
    printf("%llu\n", (unsigned long long)sum);
}
