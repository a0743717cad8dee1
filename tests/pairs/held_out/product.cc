// variants: one four
#include "../pair.h"
#include <array>
#include <vector>
enum { N = 4096, TIMES = 1400 };
// A product of numbers modulo a prime: in one chain of products and remainders, or in four that are joined at the end.
static const uint64_t PRIME = 2147483647;
int main() {
    std::vector<uint32_t> numbers(N);
    for (auto &x : numbers) x = random_number() % (PRIME - 1) + 1;
    uint64_t sum = 0;
    for (int t = 0; t < TIMES; t++) {
        numbers[t] ^= 1;
#ifdef VARIANT_one
        uint64_t p = 1;
        for (uint64_t x : numbers) p = p * x % PRIME;
#else
        std::array<uint64_t, 4> ps{{1, 1, 1, 1}};
        for (int i = 0; i < N; i += 4)
            for (int k = 0; k < 4; k++) ps[k] = ps[k] * numbers[i + k] % PRIME;
        uint64_t p = ps[0] * ps[1] % PRIME * ps[2] % PRIME * ps[3] % PRIME;
#endif
        sum += p;
    }
    printf("%llu\n", (unsigned long long)sum);
}
