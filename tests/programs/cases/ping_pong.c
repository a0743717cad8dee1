/* One word that two threads add to in turn, ROUNDS times each. */
#include <pthread.h>
#include <semaphore.h>
#include <stdalign.h>
#include <stdio.h>

#define ROUNDS 500

static alignas(64) volatile long ball;
static sem_t ping, pong;

static void *other(void *unused) {
    for (int i = 0; i < ROUNDS; i++) {
        sem_wait(&pong);
        ball++;
        sem_post(&ping);
    }
    return unused;
}

int main(void) {
    pthread_t thread;
    sem_init(&ping, 0, 1);
    sem_init(&pong, 0, 0);
    if (pthread_create(&thread, NULL, other, NULL) != 0)
        return 1;
    for (int i = 0; i < ROUNDS; i++) {
        sem_wait(&ping);
        ball++;
        sem_post(&pong);
    }
    pthread_join(thread, NULL);
    printf("%ld\n", ball);
    return 0;
}
