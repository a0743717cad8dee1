// variants: random partitioned
#include "pair.h"
enum { N = 1 << 20, BINS = 1 << 21, PARTS = 64 };
// Counts into a large table: in the order of the data, or part by part.
static uint32_t keys[N], parted[N], bins[BINS], from[PARTS + 1];
int main(void) {
    uint64_t sum = 0;
    for (int i = 0; i < N; i++) keys[i] = random_number() % BINS;
    for (int t = 0; t < 2; t++) {
#ifdef VARIANT_random
        for (int i = 0; i < N; i++) bins[keys[i]]++;
#else
        memset(from, 0, sizeof from);
        for (int i = 0; i < N; i++) from[keys[i] / (BINS / PARTS) + 1]++;
        for (int p = 0; p < PARTS; p++) from[p + 1] += from[p];
        for (int i = 0; i < N; i++) parted[from[keys[i] / (BINS / PARTS)]++] = keys[i];
        for (int i = 0; i < N; i++) bins[parted[i]]++;
#endif
    }
    for (int i = 0; i < BINS; i++) sum += bins[i] * bins[i];
    printf("%llu\n", (unsigned long long)sum);
}
