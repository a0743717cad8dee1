// variants: ordered hashed
#include "../pair.h"
#include <map>
#include <unordered_map>
enum { KEYS = 20000, LOOKUPS = 400000 };
// Look-ups of numbers: a red-black tree walks some 14 nodes for each, a hash table one chain.
int main() {
#ifdef VARIANT_ordered
    std::map<uint32_t, uint32_t> map;
#else
    std::unordered_map<uint32_t, uint32_t> map;
#endif
    for (uint32_t i = 0; i < KEYS; i++) map[random_number() % (2 * KEYS)] = i;
    uint64_t sum = 0;
    for (int i = 0; i < LOOKUPS; i++) {
        auto found = map.find(random_number() % (2 * KEYS));
        if (found != map.end()) sum += found->second;
    }
    printf("%llu\n", (unsigned long long)sum);
}
