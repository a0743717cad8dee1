// variants: tree vector
#include "../pair.h"
#include <algorithm>
#include <map>
#include <utility>
#include <vector>
enum { KEYS = 100000, LOOKUPS = 120000 };
// Ordered look-ups among 100000 keys: nodes of std::map lie all over the heap, a sorted vector is halved in place.
int main() {
    std::map<uint32_t, uint32_t> map;
    std::vector<std::pair<uint32_t, uint32_t>> pairs;
    for (uint32_t i = 0; i < KEYS; i++) pairs.emplace_back(random_number() % (1 << 24), i);
#ifdef VARIANT_tree
    for (auto &pair : pairs) map.insert(pair);
#else
    std::sort(pairs.begin(), pairs.end());
#endif
    uint64_t sum = 0;
    for (int i = 0; i < LOOKUPS; i++) {
        uint32_t key = random_number() % (1 << 24);
#ifdef VARIANT_tree
        auto found = map.lower_bound(key);
        sum += found == map.end() ? 0 : found->first;
#else
        auto found = std::lower_bound(pairs.begin(), pairs.end(), std::make_pair(key, 0u));
        sum += found == pairs.end() ? 0 : found->first;
#endif
    }
    printf("%llu\n", (unsigned long long)sum);
}
