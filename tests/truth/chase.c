/* Pointer chase: N nodes of one pointer each, node i points to node (5 i + 3) mod N. N is a power of two, so this is one
 * cycle through all nodes (Hull-Dobell). LAPS times around, starting at node 0.
 * Live before the kernel: the N nodes, node 0 at the bottom.
 * First lap: the node visited at step t has above it the t nodes visited before and the unvisited ones of higher index.
 * Later laps: all other nodes, depths 8N-7 .. 8N. */
#include "truth.h"

#ifndef N
#define N 256
#endif
#ifndef LAPS
#define LAPS 3
#endif

struct node {
    struct node *volatile next;
};

NOINLINE struct node *kernel(struct node *node) {
    for (size_t step = 0; step < (size_t)LAPS * N; step++)
        node = node->next;
    return node;
}

static NOINLINE void link_nodes(struct node *nodes) {
    for (size_t i = 0; i < N; i++)
        nodes[i].next = &nodes[(5 * i + 3) % N];
}

int main(void) {
    struct node *nodes = must(malloc(N * sizeof *nodes));
    link_nodes(nodes);
    struct node *end = kernel(nodes);
    printf("%s\n", end == nodes ? "back at the start" : "lost");
    return end != nodes;
}
