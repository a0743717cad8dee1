/* Threads, a handler of a signal and a child, which go over the same array with other strides. */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES 100000

static volatile char shared[BYTES];

static void *work(void *number) {
    long first = (long)number;
    for (int round = 0; round < 3; round++)
        for (long i = first; i < BYTES; i += 24 + first)
            shared[i]++;
    return 0;
}

static void handler(int signal) {
    (void)signal;
    for (int i = 0; i < BYTES / 2; i += 64)
        shared[i]++;
}

int main(void) {
    pthread_t threads[3];
    for (long i = 0; i < 3; i++)
        pthread_create(&threads[i], 0, work, (void *)i);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], 0);
    signal(SIGUSR1, handler);
    raise(SIGUSR1);
    pid_t child = fork();
    if (child == 0) {
        work(0);
        work((void *)5);
        _exit(0);
    }
    waitpid(child, 0, 0);
    work(0);
    return 0;
}
