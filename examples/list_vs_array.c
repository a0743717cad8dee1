/* Sum of n 64-bit numbers: in an array, in a linked list laid out in order, in a linked list scattered in memory.
 *
 *     dmdprof cc -O2 -g list_vs_array.c -o list && dmdprof run ./list [n]      (default n = 32768; 8 passes each)
 *
 * What it must cost (ByteDMD, leading order, after the first pass): a pass meets every byte again after all the others,
 * so every byte lies at the depth of the whole structure.
 *
 *   sum_array                               8 n bytes at depth 8 n:     8 n sqrt(8 n) per pass
 *   sum_list_in_order, sum_list_scattered    16 n bytes at depth 16 n:   16 n sqrt(16 n) per pass, sqrt(8) = 2.8 times
 *
 * Both lists cost the same: the cost of a byte does not depend on its neighbours. Every node also carries 48 bytes that
 * nobody reads; they cost nothing, because only bytes that are touched are on the stack.
 *
 * Measured at the default size, with the distance of the formula. The numbers are exact and the same in C (clang 14 to
 * 19) and in Rust, because both make the same accesses.
 *
 * cost sum_array          1073741824 formula +0.0 %
 * cost sum_list_in_order  3040870400 formula -0.1 %
 * cost sum_list_scattered 3040870400 formula -0.1 %
 *
 * The array is met exactly: the compiler reads 16 bytes at once, at depths 8 n - 15 to 8 n, whose roots all round up to
 * sqrt(8 n) = 512. For the lists, sqrt(16 n) = 724.08 rounds up to 725.
 *
 * To try: the lines beyond 32 KiB, where each node drags its whole line in, so both lists read 8 for the array's one;
 * -DPAYLOAD=0, where the order in memory begins to matter for lines.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define PASSES 8
#ifndef PAYLOAD
#define PAYLOAD 48
#endif

struct node {
    uint64_t number;
    struct node *next;
    char payload[PAYLOAD];
};

__attribute__((noinline)) void fill_array(size_t n, uint64_t *array) {
    for (size_t i = 0; i < n; i++)
        array[i] = i * 7 % 1009;
}

/* Links node 0, 1 * step, 2 * step, ... modulo n; step is odd and n a power of two, so that all nodes are reached. */
__attribute__((noinline)) void fill_list(size_t n, struct node *nodes, size_t step) {
    for (size_t i = 0; i < n; i++) {
        struct node *node = &nodes[i * step % n];
        node->number = i * 7 % 1009;
        node->next = i + 1 == n ? NULL : &nodes[(i + 1) * step % n];
    }
}

/* The sum so far goes in and out, so that no compiler merges the passes. */
__attribute__((noinline)) uint64_t sum_array(size_t n, const uint64_t *array, uint64_t sum) {
    for (size_t i = 0; i < n; i++)
        sum += array[i];
    return sum;
}

/* The same loop twice, so that each list has a row of its own in the report. */
__attribute__((noinline)) uint64_t sum_list_in_order(const struct node *node, uint64_t sum) {
    for (; node; node = node->next)
        sum += node->number;
    return sum;
}

__attribute__((noinline)) uint64_t sum_list_scattered(const struct node *node, uint64_t sum) {
    for (; node; node = node->next)
        sum += node->number;
    return sum;
}

int main(int argc, char **argv) {
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 32768;
    if (!n || (n & (n - 1))) {
        fprintf(stderr, "the size is a power of two\n");
        return 1;
    }
    uint64_t *array = malloc(n * sizeof *array), in_array = 0, in_order = 0, scattered = 0;
    struct node *nodes = malloc(n * sizeof *nodes);
    if (!array || !nodes)
        return 1;

    fill_array(n, array);
    for (int pass = 0; pass < PASSES; pass++)
        in_array = sum_array(n, array, in_array);
    printf("array %zu: %llu\n", n, (unsigned long long)in_array);

    fill_list(n, nodes, 1);
    for (int pass = 0; pass < PASSES; pass++)
        in_order = sum_list_in_order(nodes, in_order);
    printf("list in order %zu: %llu\n", n, (unsigned long long)in_order);

    fill_list(n, nodes, (n * 618 / 1000) | 1);
    for (int pass = 0; pass < PASSES; pass++)
        scattered = sum_list_scattered(nodes, scattered);
    printf("list scattered %zu: %llu\n", n, (unsigned long long)scattered);

    free(array), free(nodes);
    return 0;
}
