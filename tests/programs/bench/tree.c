/* Benchmark: left-leaning red-black tree, n insertions, m look-ups and five walks in order (default 100000, 1000000).
 * Compile with clang -O2 -fno-vectorize -fno-slp-vectorize. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct node {
    uint64_t key, value;
    struct node *left, *right;
    int red;
} node;

static uint64_t state = 88172645463325252ull;

static uint64_t random_below(uint64_t limit) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state % limit;
}

static int is_red(const node *n) { return n && n->red; }

static node *rotate_left(node *n) {
    node *up = n->right;
    n->right = up->left, up->left = n;
    up->red = n->red, n->red = 1;
    return up;
}

static node *rotate_right(node *n) {
    node *up = n->left;
    n->left = up->right, up->right = n;
    up->red = n->red, n->red = 1;
    return up;
}

static node *insert(node *n, uint64_t key, uint64_t value) {
    if (!n) {
        n = calloc(1, sizeof *n);
        n->key = key, n->value = value, n->red = 1;
        return n;
    }
    if (key < n->key)
        n->left = insert(n->left, key, value);
    else if (key > n->key)
        n->right = insert(n->right, key, value);
    else
        n->value = value;
    if (is_red(n->right) && !is_red(n->left)) n = rotate_left(n);
    if (is_red(n->left) && is_red(n->left->left)) n = rotate_right(n);
    if (is_red(n->left) && is_red(n->right)) n->red = 1, n->left->red = 0, n->right->red = 0;
    return n;
}

static uint64_t find(const node *n, uint64_t key) {
    while (n && n->key != key) n = key < n->key ? n->left : n->right;
    return n ? n->value : 0;
}

static uint64_t sum(const node *n) { return n ? sum(n->left) + n->value + sum(n->right) : 0; }

int main(int argc, char **argv) {
    int nodes = argc > 1 ? atoi(argv[1]) : 100000, lookups = argc > 2 ? atoi(argv[2]) : 1000000;
    uint64_t keys = 4 * (uint64_t)nodes, total = 0;
    node *root = 0;
    for (int i = 0; i < nodes; i++) root = insert(root, random_below(keys), i), root->red = 0;
    for (int i = 0; i < lookups; i++) total += find(root, random_below(keys));
    for (int i = 0; i < 5; i++) total += sum(root);
    printf("tree %d %d: %llu\n", nodes, lookups, (unsigned long long)total);
    return 0;
}
