// variants: wide narrow
#include "../pair.h"
enum { N = 1 << 16, TIMES = 700 };
// How often a byte occurs: counted in 64 bits, each byte is widened, or in 8 bits for runs of 240 that are then added.
static uint8_t bytes[N];
int main(void) {
    for (int i = 0; i < N; i++) bytes[i] = random_number() >> 9 & 15;
    uint64_t sum = 0;
    for (int t = 0; t < TIMES; t++) {
        uint8_t wanted = t & 15;
#ifdef VARIANT_wide
        for (int i = 0; i < N; i++) sum += bytes[i] == wanted;
#else
        for (int i = 0; i < N; i += 240) {
            uint8_t few = 0;
            int end = i + 240 < N ? i + 240 : N;
            for (int k = i; k < end; k++) few += bytes[k] == wanted;
            sum += few;
        }
#endif
    }
    printf("%llu\n", (unsigned long long)sum);
}
