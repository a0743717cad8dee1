/* zlib at work: generated text deflated at several levels and strategies, inflated again in small pieces and compared;
 * checksums, dictionaries, a damaged stream that must be refused. With a second argument, on threads (zlib_threads.c). */
#include "zlib.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int zlib_threads(const char *how, const unsigned char *text, size_t size);

static void generate(unsigned char *text, size_t size) {
    static const char *const words[] = {"memory ", "byte ", "depth ", "cache ", "stack ", "the ", "of ", "and ", "reuse\n", "traffic "};
    unsigned x = 1;
    size_t at = 0;
    while (at < size) {
        x = x * 1664525u + 1013904223u;
        const char *word = words[(x >> 16) % 10];
        for (; *word && at < size; word++)
            text[at++] = (unsigned char)*word;
        if ((x >> 8) % 16 == 0 && at < size)
            text[at++] = (unsigned char)('0' + (x >> 24) % 10);
    }
}

static size_t pack(const unsigned char *text, size_t size, unsigned char *packed, size_t room, int level, int strategy) {
    z_stream z;
    memset(&z, 0, sizeof z);
    if (deflateInit2(&z, level, Z_DEFLATED, 15, 8, strategy) != Z_OK)
        exit(1);
    z.next_out = packed, z.avail_out = (uInt)room;
    for (size_t at = 0; at < size; at += 10000) {
        z.next_in = (Bytef *)(text + at);
        z.avail_in = (uInt)(size - at < 10000 ? size - at : 10000);
        if (deflate(&z, at + 10000 >= size ? Z_FINISH : Z_NO_FLUSH) == Z_STREAM_ERROR)
            exit(1);
    }
    size_t out = z.total_out;
    deflateEnd(&z);
    return out;
}

static int unpack(const unsigned char *packed, size_t size, unsigned char *text, size_t room, size_t *out) {
    z_stream z;
    memset(&z, 0, sizeof z);
    if (inflateInit(&z) != Z_OK)
        exit(1);
    int status = Z_OK;
    z.next_in = (Bytef *)packed, z.avail_in = (uInt)size;
    while (status == Z_OK && z.total_out < room) {
        size_t left = room - z.total_out;
        z.next_out = text + z.total_out, z.avail_out = (uInt)(left < 3000 ? left : 3000);
        status = inflate(&z, Z_NO_FLUSH);
    }
    *out = z.total_out;
    inflateEnd(&z);
    return status;
}

int main(int argc, char **argv) {
    size_t size = argc > 1 ? strtoul(argv[1], NULL, 10) : 700000, room = size + size / 8 + 1000, out;
    unsigned char *text = malloc(size), *packed = malloc(room), *back = malloc(size + 1);
    int failed = 0;
    if (!text || !packed || !back)
        return 1;
    generate(text, size);
    if (argc > 2) {
        failed = zlib_threads(argv[2], text, size);
        free(text), free(packed), free(back);
        return failed;
    }
    printf("crc32 %08lx adler32 %08lx\n", crc32(0, text, (uInt)size), adler32(1, text, (uInt)size));
    static const int levels[] = {0, 1, 4, 6, 9};
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        size_t length = pack(text, size, packed, room, levels[i], Z_DEFAULT_STRATEGY);
        int status = unpack(packed, length, back, size + 1, &out);
        int same = status == Z_STREAM_END && out == size && memcmp(text, back, size) == 0;
        printf("level %d: %zu bytes, %s\n", levels[i], length, same ? "same" : "DIFFERENT");
        failed |= !same;
    }
    static const int strategies[] = {Z_FILTERED, Z_HUFFMAN_ONLY, Z_RLE, Z_FIXED};
    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        size_t length = pack(text, size / 4, packed, room, 6, strategies[i]);
        int status = unpack(packed, length, back, size, &out);
        int same = status == Z_STREAM_END && out == size / 4 && memcmp(text, back, out) == 0;
        printf("strategy %d: %zu bytes, %s\n", strategies[i], length, same ? "same" : "DIFFERENT");
        failed |= !same;
    }
    size_t length = pack(text, size / 4, packed, room, 6, Z_DEFAULT_STRATEGY);
    packed[length / 2] ^= 0x55;
    int status = unpack(packed, length, back, size, &out);
    printf("damaged: %s\n", status == Z_STREAM_END ? "ACCEPTED" : "refused");
    failed |= status == Z_STREAM_END;
    free(text), free(packed), free(back);
    return failed;
}
