// variants: tree array
#include "pair.h"
enum { N = 1 << 18, LOOKUPS = 200000 };
typedef struct Node { struct Node *left, *right; uint32_t key; char data[36]; } Node;
// A balanced search tree of nodes that lie in random order, or binary search in a sorted array.
static Node *nodes;
static uint32_t *place, *sorted;
static Node *build(uint32_t from, uint32_t to) {
    if (from == to) return 0;
    uint32_t middle = from + (to - from) / 2;
    Node *node = &nodes[place[middle]];
    node->key = middle * 3, node->left = build(from, middle), node->right = build(middle + 1, to);
    return node;
}
int main(void) {
    place = shuffled(N), nodes = memory(sizeof(Node) * N), sorted = memory(sizeof(uint32_t) * N);
    Node *root = build(0, N);
    for (uint32_t i = 0; i < N; i++) sorted[i] = i * 3;
    uint64_t found = 0;
    for (int i = 0; i < LOOKUPS; i++) {
        uint32_t key = random_number() % (3 * N);
#ifdef VARIANT_tree
        Node *node = root;
        while (node && node->key != key) node = key < node->key ? node->left : node->right;
        found += node != 0;
#else
        uint32_t from = 0, length = N;
        while (length > 1) {
            uint32_t half = length / 2;
            from = sorted[from + half] <= key ? from + half : from;
            length -= half;
        }
        found += sorted[from] == key;
#endif
    }
    printf("%llu %p\n", (unsigned long long)found, root ? (void *)0 : (void *)1);
}
