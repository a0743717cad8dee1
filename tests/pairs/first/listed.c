// variants: linked listed
#include "../pair.h"
enum { N = 200000, TIMES = 2 };
// The same random visits of 13 MB: by links each waits for the one before, by a list of places they overlap.
typedef struct { uint32_t next, value; char pad[56]; } Node;
int main(void) {
    Node *nodes = memory(sizeof(Node) * N);
    uint32_t *order = shuffled(N);
    for (int i = 0; i < N; i++) {
        nodes[order[i]].next = order[(i + 1) % N];
        nodes[order[i]].value = i;
    }
    uint64_t sum = 0;
    for (int t = 0; t < TIMES; t++) {
#ifdef VARIANT_linked
        uint32_t at = order[0];
        for (int i = 0; i < N; i++) sum += nodes[at].value ^ t, at = nodes[at].next;
#else
        for (int i = 0; i < N; i++) sum += nodes[order[i]].value ^ t;
#endif
    }
    printf("%llu\n", (unsigned long long)sum);
}
