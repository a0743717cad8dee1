// variants: interleaved planes
#include "../pair.h"
enum { N = 1 << 14, TIMES = 1250 };
// Grey of red, green and blue: interleaved bytes are taken apart by shuffles, planes are loaded as they are.
static uint8_t rgb[3 * N], grey[N];
#ifdef VARIANT_interleaved
#define AT(i, c) rgb[3 * (i) + (c)]
#else
#define AT(i, c) rgb[N * (c) + (i)]
#endif
int main(void) {
    for (int i = 0; i < N; i++)
        for (int c = 0; c < 3; c++) AT(i, c) = random_number() >> 6;
    uint64_t sum = 0;
    for (int t = 0; t < TIMES; t++) {
        for (int i = 0; i < N; i++) grey[i] = (AT(i, 0) * 77 + AT(i, 1) * 150 + AT(i, 2) * 29) >> 8;
        sum += grey[t % N];
        AT(t % N, t % 3) += 1;
    }
    printf("%llu\n", (unsigned long long)sum);
}
