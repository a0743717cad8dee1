/* Declares outputs of all sizes; with `threads`, in four threads and in processes forked meanwhile; with `lost`, one that cannot be
 * read; with `killed`, in a child that is killed. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../../runtime/markers/include/dmdprof.h"

static char large[5 << 20];

static void *many(void *argument) {
    char block[3000];
    memset(block, *(char *)argument, sizeof block);
    for (int i = 0; i < 200; i++)
        dmdprof_output(block, sizeof block);
    return NULL;
}

static void threads(void) {
    pthread_t ids[4];
    static char names[] = "abcd";
    for (int i = 0; i < 4; i++)
        pthread_create(&ids[i], NULL, many, &names[i]);
    for (char child = 'e'; child <= 'n'; child++) {
        if (fork() == 0) {
            many(&child);
            _exit(0);
        }
    }
    for (int i = 0; i < 4; i++)
        pthread_join(ids[i], NULL);
    while (wait(NULL) > 0)
        ;
}

/* The child dies somewhere in a long row of large outputs. */
static void killed(void) {
    dmdprof_output(large, sizeof large);
    pid_t pid = fork();
    while (pid == 0)
        dmdprof_output(large, sizeof large);
    usleep(20000);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    dmdprof_output("end", 3);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    if (!strcmp(what, "threads")) {
        threads();
        return 0;
    }
    if (!strcmp(what, "killed")) {
        killed();
        return 0;
    }
    double x[3] = { 1, 2, 3 };
    dmdprof_output(x, sizeof x);
    x[0] = 7;
    dmdprof_output(x, sizeof x[0]);
    dmdprof_output(x, 0);
    if (!strcmp(what, "lost"))
        dmdprof_output((void *)8, 100);
    for (size_t i = 0; i < sizeof large; i++)
        large[i] = (char)(i * i >> 7);
    dmdprof_output(large, sizeof large);
    puts("done");
    return 0;
}
