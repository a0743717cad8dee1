/* Chunks of a text deflated by four threads, each with the 32 KiB before it as its dictionary, as pigz does it. Chunks
 * come from a queue behind a lock (`queue`), or each thread has every fourth (`static`). Prints what does not depend on
 * who did which. */
#include "zlib.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 4
#define CHUNK 16384u
#define WINDOW 32768u

static const unsigned char *text;
static size_t size, chunks;
static unsigned char **packed;
static size_t *lengths;

/* The next chunk, when it may be taken. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static size_t next, ready;
static int from_queue;

static void deflate_chunk(size_t number) {
    size_t at = number * CHUNK, before = at < WINDOW ? at : WINDOW;
    uInt length = (uInt)(size - at < CHUNK ? size - at : CHUNK);
    int last = number + 1 == chunks;
    z_stream z;
    memset(&z, 0, sizeof z);
    if (deflateInit2(&z, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        exit(1);
    if (before > 0)
        deflateSetDictionary(&z, text + at - before, (uInt)before);
    uInt room = (uInt)deflateBound(&z, length) + 64;
    packed[number] = malloc(room);
    z.next_in = (Bytef *)(text + at), z.avail_in = length;
    z.next_out = packed[number], z.avail_out = room;
    if (!packed[number] || deflate(&z, last ? Z_FINISH : Z_SYNC_FLUSH) == Z_STREAM_ERROR)
        exit(1);
    lengths[number] = z.total_out;
    deflateEnd(&z);
}

static void *work(void *argument) {
    if (!from_queue) {
        for (size_t number = (size_t)argument; number < chunks; number += THREADS)
            deflate_chunk(number);
        return NULL;
    }
    while (1) {
        pthread_mutex_lock(&mutex);
        while (next == ready && next < chunks)
            pthread_cond_wait(&changed, &mutex);
        size_t number = next < chunks ? next++ : chunks;
        pthread_mutex_unlock(&mutex);
        if (number == chunks)
            return NULL;
        deflate_chunk(number);
    }
}

int zlib_threads(const char *how, const unsigned char *given, size_t bytes) {
    pthread_t threads[THREADS];
    text = given, size = bytes, chunks = (bytes + CHUNK - 1) / CHUNK;
    from_queue = !strcmp(how, "queue");
    packed = calloc(chunks, sizeof *packed), lengths = calloc(chunks, sizeof *lengths);
    if (!packed || !lengths)
        return 1;
    for (size_t i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)i) != 0)
            return 1;
    for (size_t i = 0; from_queue && i < chunks; i++) {
        pthread_mutex_lock(&mutex);
        ready++;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&mutex);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    unsigned char *back = malloc(size);
    size_t total = 0;
    z_stream z;
    memset(&z, 0, sizeof z);
    if (!back || inflateInit2(&z, -15) != Z_OK)
        return 1;
    z.next_out = back, z.avail_out = (uInt)size;
    for (size_t i = 0; i < chunks; i++) {
        z.next_in = packed[i], z.avail_in = (uInt)lengths[i];
        inflate(&z, Z_NO_FLUSH);
        total += lengths[i];
        free(packed[i]);
    }
    inflateEnd(&z);
    printf("%zu chunks, %zu bytes, %s\n", chunks, total, memcmp(text, back, size) ? "DIFFERENT" : "same");
    free(back), free(packed), free(lengths);
    return 0;
}
