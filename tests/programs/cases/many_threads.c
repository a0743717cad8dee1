/* `many N`: N threads, one after the other. `forked`: a thread, and a fork beside it. `endless`: a thread that never ends. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile long cell;
static pthread_barrier_t barrier;

static void *once(void *argument) {
    cell += (long)argument;
    return NULL;
}

static void *waiting(void *argument) {
    (void)argument;
    cell++;
    pthread_barrier_wait(&barrier);
    for (;;)
        pause();
}

int main(int argc, char **argv) {
    pthread_t thread;
    if (argc > 2 && !strcmp(argv[1], "many")) {
        for (long i = 0; i < atol(argv[2]); i++) {
            if (pthread_create(&thread, NULL, once, (void *)i) != 0)
                return 1;
            pthread_join(thread, NULL);
        }
    } else {
        pthread_barrier_init(&barrier, NULL, 2);
        if (pthread_create(&thread, NULL, waiting, NULL) != 0)
            return 1;
        pthread_barrier_wait(&barrier);
        if (argc > 1 && !strcmp(argv[1], "forked")) {
            pid_t child = fork();
            if (child == 0) {
                cell += 5;
                printf("child %ld\n", cell);
                fflush(stdout);
                _exit(0);
            }
            waitpid(child, NULL, 0);
        }
    }
    printf("%ld\n", cell);
    return 0;
}
