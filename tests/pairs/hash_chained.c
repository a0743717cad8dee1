// variants: chained open
#include "pair.h"
enum { N = 300000, SLOTS = 1 << 20, LOOKUPS = 1000000 };
typedef struct Node { struct Node *next; uint32_t key, value; } Node;
static uint32_t hash(uint32_t key) { return (key * 2654435761u) >> 12; }
#ifdef VARIANT_chained
static Node *heads[SLOTS / 4];
static void put(uint32_t key, uint32_t value) {
    Node *node = memory(sizeof *node), **head = &heads[hash(key) / 4];
    *node = (Node){*head, key, value}, *head = node;
}
static uint32_t get(uint32_t key) {
    for (Node *n = heads[hash(key) / 4]; n; n = n->next)
        if (n->key == key) return n->value;
    return 0;
}
#else
static struct { uint32_t key, value; } slots[SLOTS];
static void put(uint32_t key, uint32_t value) {
    uint32_t at = hash(key);
    while (slots[at].key) at = (at + 1) % SLOTS;
    slots[at].key = key, slots[at].value = value;
}
static uint32_t get(uint32_t key) {
    for (uint32_t at = hash(key); slots[at].key; at = (at + 1) % SLOTS)
        if (slots[at].key == key) return slots[at].value;
    return 0;
}
#endif
int main(void) {
    uint32_t *keys = memory(sizeof(uint32_t) * N);
    for (int i = 0; i < N; i++) keys[i] = random_number(), put(keys[i], i + 1);
    uint64_t sum = 0;
    for (int i = 0; i < LOOKUPS; i++) sum += get(keys[random_number() % N]);
    printf("%llu\n", (unsigned long long)sum);
}
