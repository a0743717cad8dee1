// variants: growing reserved
#include "../pair.h"
#include <vector>
enum { N = 1 << 21, TIMES = 3 };
// A vector of 16 MiB by push_back: doubling copies it and touches new pages again and again, reserved space does not.
int main() {
    uint64_t sum = 0;
    for (int t = 0; t < TIMES; t++) {
        std::vector<uint64_t> all;
#ifdef VARIANT_reserved
        all.reserve(N);
#endif
        for (int i = 0; i < N; i++) all.push_back(uint64_t(i) * 2654435761u + t);
        for (int i = 0; i < N; i += 16) sum += all[i];
    }
    printf("%llu\n", (unsigned long long)sum);
}
