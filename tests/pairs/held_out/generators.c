// variants: in_turn together
#include "../pair.h"
enum { GENERATORS = 4, STEPS = 4000000 };
// Four random generators: one after the other each step waits for the last one, side by side the steps overlap.
static uint64_t step(uint64_t s) {
    s ^= s << 13;
    s ^= s >> 7;
    return s ^ (s << 17);
}
int main(void) {
    uint64_t state[GENERATORS], sum = 0;
    for (int g = 0; g < GENERATORS; g++) state[g] = random_number();
#ifdef VARIANT_in_turn
    for (int g = 0; g < GENERATORS; g++) {
        uint64_t s = state[g];
        for (int i = 0; i < STEPS; i++) s = step(s), sum += s >> 40;
    }
#else
    uint64_t a = state[0], b = state[1], c = state[2], d = state[3];
    for (int i = 0; i < STEPS; i++) {
        a = step(a), b = step(b), c = step(c), d = step(d);
        sum += (a >> 40) + (b >> 40) + (c >> 40) + (d >> 40);
    }
#endif
    printf("%llu\n", (unsigned long long)sum);
}
