// variants: shuffled in_order
#include "pair.h"
enum { N = 500000, TIMES = 4 };
typedef struct Node { struct Node *next; long value; } Node;
int main(void) {
    Node *nodes = memory(sizeof(Node) * N);
    uint32_t *order = shuffled(N);
#ifdef VARIANT_in_order
    for (uint32_t i = 0; i < N; i++) order[i] = i;
#endif
    Node *head = 0;
    for (uint32_t i = N; i-- > 0;) nodes[order[i]] = (Node){head, i}, head = &nodes[order[i]];
    long sum = 0;
    for (int t = 0; t < TIMES; t++)
        for (Node *n = head; n; n = n->next) sum += n->value;
    printf("%ld\n", sum);
}
