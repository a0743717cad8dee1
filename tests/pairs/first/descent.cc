// variants: one_at_a_time eight_at_a_time
#include "../pair.h"
#include <vector>
enum { N = 1 << 17, LOOKUPS = 120000, DEPTH = 17 };
// Descents of a tree of 4 MiB: one waits for each child, eight at a time wait for their children together.
struct Node { uint32_t key, child[2]; char pad[20]; };
static std::vector<Node> nodes(N);
static uint32_t build(const uint32_t *place, uint32_t from, uint32_t to) {
    uint32_t middle = from + (to - from) / 2, at = place[middle];
    nodes[at].key = middle;
    nodes[at].child[0] = from < middle ? build(place, from, middle) : at;
    nodes[at].child[1] = middle + 1 < to ? build(place, middle + 1, to) : at;
    return at;
}
int main() {
    uint32_t root = build(shuffled(N), 0, N);
    std::vector<uint32_t> keys(LOOKUPS);
    for (auto &key : keys) key = random_number() % N;
    uint64_t sum = 0;
#ifdef VARIANT_one_at_a_time
    enum { TOGETHER = 1 };
#else
    enum { TOGETHER = 8 };
#endif
    for (int i = 0; i < LOOKUPS; i += TOGETHER) {
        uint32_t at[TOGETHER];
        for (auto &a : at) a = root;
        for (int d = 0; d < DEPTH; d++)
            for (int k = 0; k < TOGETHER; k++) at[k] = nodes[at[k]].child[keys[i + k] > nodes[at[k]].key];
        for (auto a : at) sum += nodes[a].key;
    }
    printf("%llu\n", (unsigned long long)sum);
}
