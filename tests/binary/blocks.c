/* Blocks of the heap by each function that gives and takes them, each from a function of its own that is called a
 * hundred times and writes all of the block. At the end of a call nothing of it lives. */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

__attribute__((noipa)) static void keep(volatile char *block, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        block[i] = (char)i;
}

__attribute__((noipa)) static void of_malloc(size_t bytes) {
    char *block = malloc(bytes);
    keep(block, bytes);
    free(block);
}

__attribute__((noipa)) static void of_calloc(size_t bytes) {
    char *block = calloc(bytes / 8, 8);
    keep(block, bytes);
    free(block);
}

__attribute__((noipa)) static void of_realloc(size_t bytes) {
    char *block = realloc(malloc(bytes / 4), bytes);
    keep(block, bytes);
    free(reallocarray(block, bytes / 16, 8));
}

__attribute__((noipa)) static void of_aligned_alloc(size_t bytes) {
    char *block = aligned_alloc(64, bytes);
    keep(block, bytes);
    free(block);
}

__attribute__((noipa)) static void of_posix_memalign(size_t bytes) {
    void *block;
    if (posix_memalign(&block, 64, bytes) != 0)
        abort();
    keep(block, bytes);
    free(block);
}

__attribute__((noipa)) static void of_memalign(size_t bytes) {
    char *block = memalign(64, bytes);
    keep(block, bytes);
    free(block);
}

/* A jump: `malloc` returns to who called this. */
__attribute__((noipa)) static void *wrapped(size_t bytes) {
    return malloc(bytes);
}

__attribute__((noipa)) static void of_a_wrapper(size_t bytes) {
    char *block = wrapped(bytes);
    keep(block, bytes);
    free(block);
}

/* What `malloc` returns to has run before, without a call. */
__attribute__((noipa)) static void of_a_choice(size_t bytes, char *other) {
    char *block = other;
    if (!other)
        block = malloc(bytes);
    keep(block, bytes);
    if (!other)
        free(block);
}

static jmp_buf out;
__attribute__((noipa)) static void leave(void) {
    longjmp(out, 1);
}

__attribute__((noipa)) static void of_a_jump(size_t bytes) {
    char *volatile block = malloc(bytes);
    if (setjmp(out) == 0)
        leave();
    keep(block, bytes);
    free(block);
}

__attribute__((noipa)) static void of_threads(size_t bytes) {
    char *block = malloc(bytes);
    keep(block, bytes);
    free(block);
}

static void *work(void *bytes) {
    for (int i = 0; i < 100; i++)
        of_threads((size_t)bytes);
    return 0;
}

int main(void) {
    static char buffer[16000];
    for (int i = 0; i < 100; i++) {
        of_malloc(8000);
        of_calloc(16000);
        of_realloc(16000);
        of_aligned_alloc(6400);
        of_posix_memalign(12800);
        of_memalign(3200);
        of_a_wrapper(4000);
        of_a_choice(16000, i < 10 ? buffer : 0);
        of_a_jump(2400);
    }
    pthread_t threads[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, work, (void *)1600);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return 0;
}
