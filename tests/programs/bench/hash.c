/* Benchmark: open-addressing hash table, m operations on random 64-bit keys (default 5000000; 2^17 slots of 16 bytes).
 * Compile with clang -O2 -fno-vectorize -fno-slp-vectorize. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define SLOTS ((size_t)1 << 17)

struct slot {
    uint64_t key, count;
};

__attribute__((noinline)) uint64_t operate(struct slot *table, long operations) {
    uint64_t x = 1, probes = 0;
    for (long i = 0; i < operations; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        uint64_t key = x % (SLOTS / 2) + 1;
        size_t at = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) % SLOTS;
        while (table[at].key && table[at].key != key) {
            at = (at + 1) % SLOTS;
            probes++;
        }
        table[at].key = key;
        table[at].count += 1;
    }
    return probes;
}

int main(int argc, char **argv) {
    long operations = argc > 1 ? atol(argv[1]) : 5000000;
    struct slot *table = calloc(SLOTS, sizeof *table);
    if (!table)
        return 1;
    uint64_t probes = operate(table, operations), used = 0;
    for (size_t i = 0; i < SLOTS; i++)
        used += table[i].key != 0;
    printf("hash %ld: %llu probes, %llu used\n", operations, (unsigned long long)probes, (unsigned long long)used);
    free(table);
    return 0;
}
