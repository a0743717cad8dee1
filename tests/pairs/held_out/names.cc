// variants: tree hash
#include "../pair.h"
#include <set>
#include <string>
#include <unordered_set>
#include <vector>
enum { NAMES = 4000, LOOKUPS = 190000 };
// Look-ups of texts: the tree compares some 12 texts with a long common start, the hash table hashes one text.
#ifdef VARIANT_tree
typedef std::set<std::string> Set;
#else
typedef std::unordered_set<std::string> Set;
#endif
int main() {
    std::vector<std::string> names;
    Set set;
    for (int i = 0; i < NAMES; i++) {
        names.push_back("customers/name-" + std::to_string(random_number() % 1000000));
        if (i % 2) set.insert(names.back());
    }
    uint64_t sum = 0;
    for (int i = 0; i < LOOKUPS; i++) {
        uint32_t k = random_number() % NAMES;
        if (set.count(names[k])) sum += k;
    }
    printf("%llu\n", (unsigned long long)sum);
}
