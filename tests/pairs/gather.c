// variants: random sorted
#include "pair.h"
enum { N = 1 << 21, TIMES = 2 };
int main(void) {
    uint32_t *index = shuffled(N), *data = memory(sizeof(uint32_t) * N * 2);
#ifdef VARIANT_sorted
    for (uint32_t i = 0; i < N; i++) index[i] = i;
#endif
    uint64_t sum = 0;
    for (int t = 0; t < TIMES; t++)
        for (uint32_t i = 0; i < N; i++) sum += data[2 * index[i]] += 1;
    printf("%llu\n", (unsigned long long)sum);
}
