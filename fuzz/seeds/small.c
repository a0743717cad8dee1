/* Structures on the heap, two threads, and calls of the library: one of each thing that descriptors and records have. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pair {
    long key;
    double value;
};

static double values[64];

static double sum(const struct pair *pairs, size_t count) {
    double total = 0;
    for (size_t i = 0; i < count; i++)
        total += pairs[i].value * values[pairs[i].key % 64];
    return total;
}

static void *work(void *argument) {
    size_t count = 8;
    struct pair *pairs = calloc(count, sizeof *pairs);
    for (size_t i = 0; i < 32; i++) {
        if (i == count)
            pairs = realloc(pairs, (count *= 2) * sizeof *pairs);
        pairs[i] = (struct pair){(long)(i * 7 + *(int *)argument), (double)i};
    }
    struct pair copy[32];
    memcpy(copy, pairs, sizeof copy);
    free(pairs);
    values[*(int *)argument] = sum(copy, 32);
    return NULL;
}

int main(void) {
    for (int i = 0; i < 64; i++)
        values[i] = i;
    int numbers[2] = {1, 2};
    pthread_t thread;
    pthread_create(&thread, NULL, work, &numbers[0]);
    pthread_join(thread, NULL);
    work(&numbers[1]);
    printf("%g\n", values[1] + values[2]);
}
