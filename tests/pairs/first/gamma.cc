// variants: table arithmetic
#include "../pair.h"
#include <algorithm>
#include <array>
#include <vector>
enum { N = 1 << 22, TIMES = 9 };
// Bytes are brightened and clipped: by a table, one load for each byte, or by arithmetic on 16 bytes at once.
int main() {
    std::array<uint8_t, 256> table;
    for (int i = 0; i < 256; i++) table[i] = uint8_t(std::min(i + 40, 250));
    std::vector<uint8_t> in(N), out(N);
    for (int i = 0; i < N; i++) in[i] = uint8_t(i * 2654435761u >> 24);
    uint64_t sum = 0;
    for (int t = 0; t < TIMES; t++) {
        in[t % N]++;
#ifdef VARIANT_table
        for (int i = 0; i < N; i++) out[i] = table[in[i]];
#else
        for (int i = 0; i < N; i++) out[i] = uint8_t(std::min(in[i] + 40, 250));
#endif
        sum += out[t * 31 % N];
    }
    printf("%llu\n", (unsigned long long)sum);
}
