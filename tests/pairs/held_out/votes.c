// variants: branches differences
#include "../pair.h"
enum { N = 1 << 14, TIMES = 900 };
// Pairs of numbers are less, equal or greater: by two branches at random, or by masks made of comparisons, in vectors.
static uint8_t a[N], b[N];
static uint32_t votes[3];
int main(void) {
    for (int i = 0; i < N; i++) a[i] = random_number() >> 9 & 7, b[i] = random_number() >> 9 & 7;
    for (int t = 0; t < TIMES; t++)
        for (int i = 0; i < N; i++) {
            int x = a[i], y = (b[i] + t) & 7;
#ifdef VARIANT_branches
            if (x < y) votes[0] += t;
            else if (x > y) votes[2] += i;
            else votes[1]++;
#else
            votes[0] += -(uint32_t)(x < y) & t;
            votes[2] += -(uint32_t)(x > y) & i;
            votes[1] += x == y;
#endif
        }
    printf("%u %u %u\n", votes[0], votes[1], votes[2]);
}
