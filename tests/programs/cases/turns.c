/* Four threads that add to rows of their own, meet at a barrier, read each other's rows and add up under a lock. Race-free,
 * and each does the same whoever comes first. */
#include <pthread.h>
#include <stdio.h>

#define THREADS 4
#define WORDS 4096

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static long total, rows[THREADS][WORDS];

static void *work(void *argument) {
    long self = (long)argument;
    for (int round = 0; round < 3; round++) {
        long sum = 0;
        for (int i = 0; i < WORDS; i++)
            rows[self][i] += i * self + round;
        pthread_barrier_wait(&barrier);
        for (int i = 0; i < WORDS; i++)
            sum += rows[(self + 1) % THREADS][i];
        pthread_mutex_lock(&mutex);
        total += sum;
        pthread_mutex_unlock(&mutex);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (long i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)i) != 0)
            return 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%ld\n", total);
    return 0;
}
