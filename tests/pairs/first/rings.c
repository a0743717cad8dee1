// variants: in_turn together
#include "../pair.h"
enum { N = 1 << 10, RINGS = 4, STEPS = 6500000 };
// Four small rings of links (16 KiB): walked one after the other each load waits, walked together four loads overlap.
static uint32_t next[RINGS][N];
int main(void) {
    for (int r = 0; r < RINGS; r++) {
        uint32_t *order = shuffled(N);
        for (int i = 0; i < N; i++) next[r][order[i]] = order[(i + 1) % N];
        free(order);
    }
    uint32_t at[RINGS] = {0, 1, 2, 3};
#ifdef VARIANT_in_turn
    for (int r = 0; r < RINGS; r++)
        for (int s = 0; s < STEPS; s++) at[r] = next[r][at[r]];
#else
    uint32_t a = at[0], b = at[1], c = at[2], d = at[3];
    for (int s = 0; s < STEPS; s++) a = next[0][a], b = next[1][b], c = next[2][c], d = next[3][d];
    at[0] = a, at[1] = b, at[2] = c, at[3] = d;
#endif
    printf("%u %u %u %u\n", at[0], at[1], at[2], at[3]);
}
