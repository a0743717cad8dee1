/* Four threads, each on memory of its own, of different lengths, started and ending in an order that the scheduler
 * chooses: the profile must not depend on it. */
#include <inttypes.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 4

struct job {
    uint64_t words, result;
};

static void *work(void *argument) {
    struct job *job = argument;
    uint64_t *table = calloc(job->words, sizeof *table), x = job->words, sum = 0;
    if (!table)
        return NULL;
    for (int i = 0; i < 200000; i++) {
        x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        table[(x >> 33) % job->words] += x >> 40;
    }
    for (uint64_t i = 0; i < job->words; i++)
        sum += table[i];
    free(table);
    job->result = sum;
    return job;
}

int main(void) {
    static struct job jobs[THREADS];
    pthread_t threads[THREADS];
    for (uint64_t i = 0; i < THREADS; i++) {
        jobs[i].words = UINT64_C(100) << 2 * i;
        if (pthread_create(&threads[i], NULL, work, &jobs[i]) != 0)
            return 1;
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        printf("%" PRIu64 "\n", jobs[i].result);
    }
    return 0;
}
