// variants: shuffled in_order
#include "pair.h"
enum { N = 300000, TIMES = 3 };
typedef struct Node { struct Node *left, *right; long key; char pad[8]; } Node;
static Node *nodes;
static uint32_t *place;
static Node *build(uint32_t from, uint32_t to) {
    if (from == to) return 0;
    uint32_t middle = from + (to - from) / 2;
#ifdef VARIANT_shuffled
    Node *node = &nodes[place[middle]];
#else
    Node *node = &nodes[middle];
#endif
    node->key = middle, node->left = build(from, middle), node->right = build(middle + 1, to);
    return node;
}
static long sum(const Node *node) { return node ? node->key + sum(node->left) + sum(node->right) : 0; }
int main(void) {
    place = shuffled(N), nodes = memory(sizeof(Node) * N);
    Node *root = build(0, N);
    long total = 0;
    for (int t = 0; t < TIMES; t++) total += sum(root);
    printf("%ld\n", total);
}
