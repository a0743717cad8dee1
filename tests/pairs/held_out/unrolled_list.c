// variants: single unrolled
#include "../pair.h"
enum { N = 1 << 17, FEW = 14, TIMES = 25 };
// A list of 131072 numbers with one number for each node, or 14: the chain of links is 14 times as short.
#ifdef VARIANT_single
enum { EACH = 1 };
#else
enum { EACH = FEW };
#endif
typedef struct Node { struct Node *next; uint32_t count, values[EACH]; } Node;
int main(void) {
    uint32_t nodes = (N + EACH - 1) / EACH, *order = shuffled(nodes), value = 0;
    Node *all = memory(sizeof(Node) * nodes);
    for (uint32_t k = 0; k < nodes; k++) {
        Node *node = &all[order[k]];
        while (node->count < EACH && value < N) node->values[node->count++] = value++;
        node->next = k + 1 < nodes ? &all[order[k + 1]] : 0;
    }
    uint64_t sum = 0;
    for (int t = 0; t < TIMES; t++)
        for (Node *node = &all[order[0]]; node; node = node->next)
            for (uint32_t i = 0; i < node->count; i++) sum += node->values[i] ^ t;
    printf("%llu\n", (unsigned long long)sum);
}
