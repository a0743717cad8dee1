// variants: early_exit whole
#include "../pair.h"
enum { N = 1 << 21, TIMES = 18 };
// A sum up to the end mark, which comes last: a loop that may leave early is scalar, one over the length is packed.
static int32_t v[N];
int main(void) {
    for (int i = 0; i < N - 1; i++) v[i] = random_number() & 0xffff;
    v[N - 1] = -1;
    uint64_t sum = 0;
    for (int t = 0; t < TIMES; t++) {
        uint32_t s = 0;
        v[t % (N - 1)] ^= 1;
#ifdef VARIANT_early_exit
        for (int i = 0; i < N && v[i] >= 0; i++) s += v[i];
#else
        for (int i = 0; i < N - 1; i++) s += v[i];
#endif
        sum += s;
    }
    printf("%llu\n", (unsigned long long)sum);
}
