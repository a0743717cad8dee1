// variants: nodes ring
#include "pair.h"
enum { N = 200000, TURNS = 1500000 };
typedef struct Node { struct Node *next; uint32_t value; } Node;
#ifdef VARIANT_nodes
static Node *head, *tail;
static void push(uint32_t value) {
    Node *node = memory(sizeof *node);
    node->value = value;
    if (tail) tail->next = node; else head = node;
    tail = node;
}
static uint32_t pop(void) {
    Node *node = head;
    uint32_t value = node->value;
    head = node->next;
    if (!head) tail = 0;
    free(node);
    return value;
}
#else
static uint32_t ring[1 << 18], head, tail;
static void push(uint32_t value) { ring[tail++ % (1 << 18)] = value; }
static uint32_t pop(void) { return ring[head++ % (1 << 18)]; }
#endif
int main(void) {
    for (uint32_t i = 0; i < N; i++) push(i);
    uint64_t sum = 0;
    for (int i = 0; i < TURNS; i++) {
        uint32_t value = pop();
        sum += value, push(value * 5 + 1);
    }
    printf("%llu\n", (unsigned long long)sum);
}
