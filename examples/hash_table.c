/* Hash table with 64-bit keys and values, half full: open addressing against chains, uniform against skewed look-ups.
 *
 *     dmdprof cc -O2 -g hash_table.c -o hash_table && dmdprof run ./hash_table [slots]    (default 65536, a power of two)
 *
 * What it must cost (ByteDMD, leading order): a uniformly random byte out of F lies at any depth from 1 to F with equal
 * chance, so it costs 2/3 sqrt(F) on average, and a look-up that reads b bytes costs b * 2/3 sqrt(F).
 *
 *   open_lookup_uniform    8 bytes of key per slot probed, then 8 bytes of value beside it. The keys are consecutive
 *                          numbers, which this hash spreads so well that a look-up probes 1.08 slots (1.5 with random
 *                          keys): 16.6 bytes; F = 16 bytes per key
 *   open_lookup_skewed     15 of 16 look-ups go to 1/64 of the keys: about (15/16)/8 + 1/16 = 0.18 of the uniform cost,
 *                          with the same instructions
 *   chain_lookup_uniform   8 bytes of head, nodes of 8 bytes of key and 8 of next (the last one's is not read), 8 of
 *                          value: 25.1 bytes; F = 24 bytes per key, so about 1.9 times the uniform cost
 *
 * Measured at the default size, with the distance of the formula. The numbers are exact and the same in C (clang 14 to
 * 19) and in Rust, because both make the same accesses.
 *
 * cost open_lookup_uniform  2094369154 formula +0.3 %
 * cost open_lookup_skewed    386448914 formula -2.2 %
 * cost chain_lookup_uniform 3922455935 formula -0.8 %
 *
 * To try: four times the slots doubles the cost of a uniform look-up; the lines beyond 32 KiB, where open addressing
 * gains (key, value and the next probe share a line) and chains do not.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static size_t slot_of(uint64_t key, size_t slots) {
    return (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 20) & (slots - 1);
}

/* The numbers 0, 1, 2, ... scattered: one step of SplitMix64. */
static uint64_t scatter(uint64_t i) {
    uint64_t x = i + UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

struct slot {
    uint64_t key, value; /* key 0 = empty */
};

__attribute__((noinline)) void open_build(size_t slots, struct slot *table) {
    for (uint64_t key = 1; key <= slots / 2; key++) {
        size_t at = slot_of(key, slots);
        while (table[at].key)
            at = (at + 1) & (slots - 1);
        table[at].key = key;
        table[at].value = 3 * key;
    }
}

/* The look-ups are written out, so that each kind has a row of its own in the report. Every key is in the table. */

__attribute__((noinline)) uint64_t open_lookup_uniform(size_t slots, const struct slot *table, uint64_t lookups) {
    uint64_t sum = 0, keys = slots / 2;
    for (uint64_t i = 0; i < lookups; i++) {
        uint64_t key = scatter(i) % keys + 1;
        size_t at = slot_of(key, slots);
        while (table[at].key != key)
            at = (at + 1) & (slots - 1);
        sum += table[at].value;
    }
    return sum;
}

__attribute__((noinline)) uint64_t open_lookup_skewed(size_t slots, const struct slot *table, uint64_t lookups) {
    uint64_t sum = 0, keys = slots / 2, hot = keys >= 64 ? keys / 64 : 1;
    for (uint64_t i = 0; i < lookups; i++) {
        uint64_t key = scatter(i) % (i % 16 == 15 ? keys : hot) + 1;
        size_t at = slot_of(key, slots);
        while (table[at].key != key)
            at = (at + 1) & (slots - 1);
        sum += table[at].value;
    }
    return sum;
}

struct node {
    struct node *next;
    uint64_t key, value;
};

__attribute__((noinline)) void chain_build(size_t slots, struct node **heads, struct node *nodes) {
    for (size_t i = 0; i < slots / 2; i++) {
        size_t at = slot_of(i + 1, slots);
        nodes[i].next = heads[at];
        nodes[i].key = i + 1;
        nodes[i].value = 3 * (i + 1);
        heads[at] = &nodes[i];
    }
}

__attribute__((noinline)) uint64_t chain_lookup_uniform(size_t slots, struct node *const *heads, uint64_t lookups) {
    uint64_t sum = 0, keys = slots / 2;
    for (uint64_t i = 0; i < lookups; i++) {
        uint64_t key = scatter(i) % keys + 1;
        const struct node *node = heads[slot_of(key, slots)];
        while (node->key != key)
            node = node->next;
        sum += node->value;
    }
    return sum;
}

int main(int argc, char **argv) {
    size_t slots = argc > 1 ? strtoul(argv[1], NULL, 10) : 65536;
    if (slots < 2 || (slots & (slots - 1))) {
        fprintf(stderr, "the number of slots is a power of two\n");
        return 1;
    }
    uint64_t lookups = 4 * slots;
    struct slot *table = calloc(slots, sizeof *table);
    struct node **heads = calloc(slots, sizeof *heads), *nodes = calloc(slots / 2, sizeof *nodes);
    if (!table || !heads || !nodes)
        return 1;

    open_build(slots, table);
    printf("open addressing, uniform %zu: %llu\n", slots, (unsigned long long)open_lookup_uniform(slots, table, lookups));
    printf("open addressing, skewed %zu: %llu\n", slots, (unsigned long long)open_lookup_skewed(slots, table, lookups));
    chain_build(slots, heads, nodes);
    printf("chains, uniform %zu: %llu\n", slots, (unsigned long long)chain_lookup_uniform(slots, heads, lookups));

    free(table), free(heads), free(nodes);
    return 0;
}
