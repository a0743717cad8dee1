// variants: separate together
#include "pair.h"
enum { SLOTS = 1 << 20, N = SLOTS / 2, LOOKUPS = 500000 };
// Open addressing with values of 24 bytes: in arrays of their own, or beside their keys.
typedef struct { uint64_t v[3]; } Value;
#ifdef VARIANT_separate
static uint32_t keys_of[SLOTS];
static uint64_t v0[SLOTS], v1[SLOTS], v2[SLOTS];
#define KEY(i) keys_of[i]
#define SET(i, x) (v0[i] = x, v1[i] = x + 1, v2[i] = x + 2)
#define GET(i) (v0[i] + v1[i] + v2[i])
#else
static struct { uint32_t key; Value value; } slots[SLOTS];
#define KEY(i) slots[i].key
#define SET(i, x) (slots[i].value.v[0] = x, slots[i].value.v[1] = x + 1, slots[i].value.v[2] = x + 2)
#define GET(i) (slots[i].value.v[0] + slots[i].value.v[1] + slots[i].value.v[2])
#endif
static uint32_t find(uint32_t key) {
    uint32_t at = (key * 2654435761u) >> 12;
    while (KEY(at) && KEY(at) != key) at = (at + 1) % SLOTS;
    return at;
}
int main(void) {
    uint32_t *keys = memory(sizeof(uint32_t) * N);
    for (int i = 0; i < N; i++) {
        keys[i] = random_number();
        uint32_t at = find(keys[i]);
        KEY(at) = keys[i], SET(at, (uint64_t)i);
    }
    uint64_t sum = 0;
    for (int i = 0; i < LOOKUPS; i++) sum += GET(find(keys[random_number() % N]));
    printf("%llu\n", (unsigned long long)sum);
}
