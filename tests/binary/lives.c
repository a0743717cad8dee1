/* What begins and ends: blocks of the heap, a mapping, stack frames, threads, a child, a signal handler, a jump out of
 * several frames. Its output and exit code are the same wherever it runs. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* Bytes from one that is touched to the next. */
#ifndef STEP
#define STEP 8
#endif

__attribute__((noinline)) static void keep(volatile char *block, size_t bytes) {
    for (size_t i = 0; i < bytes; i += STEP)
        block[i] = (char)i;
}

/* First many blocks of six megabytes in all, then one of six elsewhere: six are alive, an eighth of which is touched.
 * Then a megabyte at a time, sixteen times. */
__attribute__((noinline)) static void blocks(void) {
    char *many[64];
    for (int i = 0; i < 64; i++)
        keep(many[i] = malloc(100000), 100000);
    for (int i = 0; i < 64; i++)
        free(many[i]);
    char *one = malloc(6400000);
    keep(one, 6400000);
    free(one);
    for (int i = 0; i < 16; i++) {
        char *block = malloc(1 << 20);
        keep(block, 1 << 20);
        block = realloc(block, 1 << 19);
        keep(block, 1 << 19);
        free(block);
    }
}

/* The same on the stack: each call's buffer is dead when it returns. */
__attribute__((noinline)) static int deep(int depth) {
    volatile char buffer[4096];
    keep(buffer, sizeof buffer);
    return depth == 0 ? buffer[8] : deep(depth - 1) + buffer[16];
}

__attribute__((noinline)) static void maps(void) {
    size_t bytes = 1 << 20;
    char *mapped = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    keep(mapped, bytes);
    munmap(mapped, bytes);
}

static jmp_buf out;
__attribute__((noinline)) static void jumps(int depth) {
    if (depth == 0)
        longjmp(out, 1);
    jumps(depth - 1);
    keep((char[64]){0}, 64);
}

static volatile int handled;
static void handler(int signal) {
    (void)signal;
    handled++;
}

static volatile long sums[4];
static void *work(void *number) {
    char *block = malloc(100000);
    keep(block, 100000);
    for (int i = 0; i < 100000; i += 8)
        sums[(long)number] += block[i];
    free(block);
    return 0;
}

int main(int argc, char **argv) {
    blocks();
    int total = 0;
    for (int i = 0; i < 10; i++)
        total += deep(20);
    maps();
    int jumped = 0;
    for (int i = 0; i < 100; i++)
        if (setjmp(out) == 0)
            jumps(10);
        else
            jumped++;
    signal(SIGUSR1, handler);
    for (int i = 0; i < 10; i++)
        raise(SIGUSR1);
    pthread_t threads[4];
    for (long i = 0; i < 4; i++)
        pthread_create(&threads[i], 0, work, (void *)i);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], 0);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        blocks();
        _exit(7);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (argc > 1 && strcmp(argv[1], "execute") == 0) {
        fflush(stdout);
        execl("/bin/sh", "sh", "-c", "echo executed; exit 5", (char *)0);
    }
    if (argc > 1 && strcmp(argv[1], "killed") == 0)
        raise(SIGKILL);
    printf("%d %d %d %ld %d\n", total, jumped, handled, sums[0] + sums[3], WEXITSTATUS(status));
    return 3;
}
