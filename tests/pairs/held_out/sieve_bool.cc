// variants: bits bytes
#include "../pair.h"
#include <vector>
enum { N = 1 << 17, TIMES = 58 };
// Primes below 131072, in L2 in both: std::vector<bool> reads, masks and writes a word, a vector of bytes only writes.
#ifdef VARIANT_bits
typedef std::vector<bool> Marks;
#else
typedef std::vector<uint8_t> Marks;
#endif
int main() {
    uint64_t sum = 0;
    for (int t = 0; t < TIMES; t++) {
        Marks composite(N + t);
        for (int p = 2; p * p < N + t; p++)
            if (!composite[p])
                for (int m = p * p; m < N + t; m += p) composite[m] = 1;
        for (int i = 2; i < N + t; i++) sum += !composite[i];
    }
    printf("%llu\n", (unsigned long long)sum);
}
