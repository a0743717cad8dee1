/* Uses the heap, the stack, the library and its environment in every way whose addresses change from run to run, and says
 * on standard error where things were. The work and the standard output do not depend on it. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VALUES 20000

struct item {
    struct item *left, *right;
    char name[];
};

static struct item *insert(struct item *tree, const char *name) {
    if (!tree) {
        struct item *item = calloc(1, sizeof *item + strlen(name) + 1);
        if (!item)
            abort();
        strcpy(item->name, name);
        return item;
    }
    int order = strcmp(name, tree->name);
    if (order < 0)
        tree->left = insert(tree->left, name);
    else if (order > 0)
        tree->right = insert(tree->right, name);
    return tree;
}

static size_t collect(const struct item *tree, char **text, size_t used, size_t *room) {
    if (!tree)
        return used;
    used = collect(tree->left, text, used, room);
    size_t length = strlen(tree->name);
    while (used + length + 1 > *room) {
        *room *= 2;
        *text = realloc(*text, *room);
        if (!*text)
            abort();
    }
    memcpy(*text + used, tree->name, length + 1);
    return collect(tree->right, text, used + length, room);
}

static void release(struct item *tree) {
    if (tree) {
        release(tree->left);
        release(tree->right);
        free(tree);
    }
}

/* Not qsort: some C libraries sort in a block of their own, whose life the hooks cannot see. */
static void sort(uint32_t *values, size_t count) {
    for (size_t start = count / 2, end = count; end > 1;) {
        uint32_t value;
        if (start > 0) {
            value = values[--start];
        } else {
            value = values[--end];
            values[end] = values[0];
        }
        size_t at = start;
        for (size_t child; (child = 2 * at + 1) < end; at = child) {
            if (child + 1 < end && values[child + 1] > values[child])
                child++;
            if (value >= values[child])
                break;
            values[at] = values[child];
        }
        values[at] = value;
    }
}

int main(void) {
    struct item *tree = NULL;
    size_t room = 16;
    char *text = malloc(room), name[32];
    uint32_t *large = malloc(400000), x = 1;
    if (!text || !large)
        return 1;
    for (int i = 0; i < 3000; i++) {
        x = x * 1664525u + 1013904223u;
        snprintf(name, sizeof name, "%x", x >> 20);
        tree = insert(tree, name);
        void *passing = malloc(x >> 22);
        if (passing)
            memset(passing, 1, x >> 22);
        free(passing);
    }
    /* A part of the block, which is so large that it is a mapping of its own. */
    for (int i = 0; i < VALUES; i++)
        large[i] = x = x * 1664525u + 1013904223u;
    sort(large, VALUES);
    size_t used = collect(tree, &text, 0, &room);
    uint64_t hash = 1;
    for (size_t i = 0; i < used; i++)
        hash = hash * 31 + (unsigned char)text[i];
    printf("%zu %llx %u\n", used, (unsigned long long)hash, large[VALUES / 2]);
    fprintf(stderr, "heap %p large %p stack %p code %p\n", (void *)text, (void *)large, (void *)name, (void *)main);
    release(tree);
    free(text);
    free(large);
    return 0;
}
