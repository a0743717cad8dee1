// variants: branching branchless
#include "../pair.h"
enum { N = 1 << 16, TIMES = 410 };
// Numbers below a pivot are kept: by a branch that nobody can predict, or by a store each time and a step of 0 or 1.
static uint32_t numbers[N], kept[N + 1];
int main(void) {
    for (int i = 0; i < N; i++) numbers[i] = random_number() >> 8;
    uint64_t sum = 0;
    for (uint32_t t = 0; t < TIMES; t++) {
        uint32_t n = 0, pivot = (1 << 23) + (t << 12);
        for (int i = 0; i < N; i++) {
#ifdef VARIANT_branching
            if (numbers[i] < pivot) {
                kept[n] = numbers[i];
                n++;
            }
#else
            kept[n] = numbers[i];
            n += numbers[i] < pivot;
#endif
        }
        sum += n + kept[n / 2];
    }
    printf("%llu\n", (unsigned long long)sum);
}
