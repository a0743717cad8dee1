/* A block and a structure on the stack that one thread makes and gives to another, which frees the block. Two threads
 * count in fields of one more block, which is freed too. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define WORDS 512
#define TIMES 1000

struct work {
    long *words;
    long sum;
};

struct counts {
    volatile long even, odd;
};

static pthread_barrier_t barrier;

static void *add(void *argument) {
    struct work *work = argument;
    for (int i = 0; i < WORDS; i++)
        work->sum += work->words[i] ^ i;
    free(work->words);
    return NULL;
}

static void *even(void *argument) {
    struct counts *counts = argument;
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < TIMES; i++)
        counts->even++;
    return NULL;
}

static void *odd(void *argument) {
    struct counts *counts = argument;
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < TIMES; i++)
        counts->odd++;
    return NULL;
}

int main(void) {
    pthread_t thread, other;
    struct work work = {malloc(WORDS * sizeof(long)), 0};
    struct counts *counts = aligned_alloc(64, 64);
    pthread_barrier_init(&barrier, NULL, 2);
    if (!work.words || !counts)
        return 1;
    for (int i = 0; i < WORDS; i++)
        work.words[i] = i * 3;
    counts->even = counts->odd = 0;
    if (pthread_create(&thread, NULL, add, &work) != 0)
        return 1;
    pthread_join(thread, NULL);
    if (pthread_create(&thread, NULL, even, counts) != 0 || pthread_create(&other, NULL, odd, counts) != 0)
        return 1;
    pthread_join(thread, NULL);
    pthread_join(other, NULL);
    printf("%ld %ld\n", work.sum, counts->even + counts->odd);
    free(counts);
    return 0;
}
