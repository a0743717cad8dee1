// variants: one_pass two_passes
#include "../pair.h"
#include <algorithm>
#include <vector>
enum { N = 1 << 15, TIMES = 1100 };
// Where the least number is: std::min_element in one scalar pass, or the least in vectors and then a search for it.
int main() {
    std::vector<int32_t> v(N);
    for (auto &x : v) x = int32_t(random_number() >> 2);
    uint64_t sum = 0;
    for (int t = 0; t < TIMES; t++) {
#ifdef VARIANT_one_pass
        size_t at = std::min_element(v.begin(), v.end()) - v.begin();
#else
        int32_t least = v[0];
        for (auto x : v) least = x < least ? x : least;
        size_t at = std::find(v.begin(), v.end(), least) - v.begin();
#endif
        sum += at;
        v[at] += 1 << 24;
    }
    printf("%llu\n", (unsigned long long)sum);
}
