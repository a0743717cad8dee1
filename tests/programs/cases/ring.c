/* A producer and a consumer over a ring of SLOTS words, with two semaphores, ITEMS times. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

#define SLOTS 64
#define ITEMS 1024

static long ring[SLOTS];
static sem_t full, empty;

static void *consume(void *argument) {
    long sum = 0;
    for (long i = 0; i < ITEMS; i++) {
        sem_wait(&full);
        sum += ring[i % SLOTS];
        sem_post(&empty);
    }
    *(long *)argument = sum;
    return NULL;
}

int main(void) {
    long sum;
    pthread_t consumer;
    sem_init(&full, 0, 0);
    sem_init(&empty, 0, SLOTS);
    pthread_create(&consumer, NULL, consume, &sum);
    for (long i = 0; i < ITEMS; i++) {
        sem_wait(&empty);
        ring[i % SLOTS] = i;
        sem_post(&full);
    }
    pthread_join(consumer, NULL);
    printf("%ld\n", sum);
    return 0;
}
