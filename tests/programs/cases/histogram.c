/* Four threads count the same values: each in words of its own of lines that all have (`shared`), or in an array of its
 * own that it adds to the sum under a lock (`private`). */
#include <pthread.h>
#include <stdalign.h>
#include <stdio.h>
#include <string.h>

#define THREADS 4
#define BINS 16
#define VALUES 1024

/* A line per bin. */
static alignas(64) volatile long bins[BINS][8];
static alignas(64) volatile long total[BINS];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static int falsely;

static void *count(void *argument) {
    long self = (long)argument;
    volatile long own[BINS] = {0};
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < VALUES; i++) {
        if (falsely)
            bins[i % BINS][self]++;
        else
            own[i % BINS]++;
    }
    if (falsely)
        return NULL;
    pthread_mutex_lock(&mutex);
    for (int bin = 0; bin < BINS; bin++)
        total[bin] += own[bin];
    pthread_mutex_unlock(&mutex);
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t threads[THREADS];
    falsely = argc > 1 && !strcmp(argv[1], "shared");
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (long i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, count, (void *)i) != 0)
            return 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%ld\n", falsely ? bins[3][0] + bins[3][1] + bins[3][2] + bins[3][3] : total[3]);
    return 0;
}
