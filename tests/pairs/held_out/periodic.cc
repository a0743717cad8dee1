// variants: shuffled_marks periodic
#include "../pair.h"
#include <algorithm>
#include <vector>
enum { N = 1 << 17, TIMES = 118 };
// Three of eight marks are set, in random order or with a period of eight, which the branch predictor learns.
int main() {
    std::vector<uint8_t> marks(N);
    for (int i = 0; i < N; i++) marks[i] = i % 8 == 0 || i % 8 == 3 || i % 8 == 4;
#ifdef VARIANT_shuffled_marks
    for (int i = N - 1; i > 0; i--) std::swap(marks[i], marks[random_number() % (i + 1)]);
#endif
    std::vector<uint32_t> set(64), clear(64);
    for (int t = 0; t < TIMES; t++) {
        uint32_t ones = 0, zeros = 0;
        for (auto mark : marks) {
            if (mark) set[ones++ % 64] += t;
            else clear[zeros++ % 64] ^= t;
        }
    }
    uint64_t sum = 0;
    for (int i = 0; i < 64; i++) sum = sum * 31 + set[i] + clear[i];
    printf("%llu\n", (unsigned long long)sum);
}
