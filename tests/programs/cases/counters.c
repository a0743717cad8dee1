/* Four threads that count: in neighbouring words (`shared`), in words of lines of their own (`padded`), or one after the
 * other in the same word under a lock (`one`). */
#include <pthread.h>
#include <stdalign.h>
#include <stdio.h>
#include <string.h>

#define THREADS 4
#define TIMES 1024

static alignas(64) volatile long shared[8];
static alignas(64) volatile long padded[THREADS * 8];
static alignas(64) volatile long one;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static const char *how;

static void *count(void *argument) {
    long self = (long)argument;
    if (!strcmp(how, "shared")) {
        for (int i = 0; i < TIMES; i++)
            shared[self]++;
    } else if (!strcmp(how, "padded")) {
        for (int i = 0; i < TIMES; i++)
            padded[self * 8]++;
    } else {
        for (int i = 0; i < TIMES; i++) {
            pthread_mutex_lock(&mutex);
            one++;
            pthread_mutex_unlock(&mutex);
        }
    }
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t threads[THREADS];
    how = argc > 1 ? argv[1] : "shared";
    for (long i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, count, (void *)i) != 0)
            return 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%ld %ld %ld\n", shared[0] + shared[3], padded[0] + padded[24], one);
    return 0;
}
