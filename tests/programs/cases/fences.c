/* Threads that write words of their own and count themselves out with a release; whoever is last reads all words after
 * an acquire fence. The last is the one that does least, as it sleeps first. Then one hands words to another by a
 * relaxed flag between fences. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#define THREADS 4
#define WORDS 64

static volatile long words[THREADS][WORDS], given[WORDS];
static atomic_int left = THREADS, flag;
static long sum;

static void *count_out(void *argument) {
    long self = (long)argument;
    if (self == 0)
        usleep(200000);
    for (long times = 0; times <= self * 200; times++)
        for (int i = 0; i < WORDS; i++)
            words[self][i] = self + i;
    if (atomic_fetch_sub_explicit(&left, 1, memory_order_release) == 1) {
        atomic_thread_fence(memory_order_acquire);
        for (int i = 0; i < THREADS * WORDS; i++)
            sum += words[i / WORDS][i % WORDS];
    }
    return NULL;
}

static void *give(void *unused) {
    for (int times = 0; times < 1000; times++)
        for (int i = 0; i < WORDS; i++)
            given[i] = i;
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&flag, 1, memory_order_relaxed);
    return unused;
}

int main(void) {
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, count_out, (void *)i) != 0)
            return 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    if (pthread_create(&threads[0], NULL, give, NULL) != 0)
        return 1;
    while (atomic_load_explicit(&flag, memory_order_relaxed) == 0)
        usleep(20000);
    atomic_thread_fence(memory_order_acquire);
    for (int i = 0; i < WORDS; i++)
        sum += given[i];
    pthread_join(threads[0], NULL);
    printf("%ld\n", sum);
    return 0;
}
