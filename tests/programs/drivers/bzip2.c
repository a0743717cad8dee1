/* bzip2 at work: generated text compressed at two block sizes, decompressed (also with the small-memory algorithm) and
 * compared; a damaged stream that must be refused. */
#include "bzlib.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void bz_internal_error(int code) {
    fprintf(stderr, "bzip2 internal error %d\n", code);
    exit(3);
}

static void generate(char *text, size_t size) {
    unsigned x = 1;
    for (size_t at = 0; at < size; at++) {
        x = x * 1664525u + 1013904223u;
        unsigned r = x >> 16;
        /* Runs, repeats of what was 997 bytes before, and letters. */
        text[at] = r % 8 == 0 && at ? text[at - 1] : r % 8 < 6 && at >= 997 ? text[at - 997] : (char)('a' + (r >> 3) % 20);
    }
}

int main(int argc, char **argv) {
    unsigned size = argc > 1 ? (unsigned)atoi(argv[1]) : 500000, room = size + size / 50 + 1000;
    char *text = malloc(size), *packed = malloc(room), *back = malloc(size);
    int failed = 0;
    if (!text || !packed || !back)
        return 1;
    generate(text, size);
    for (int level = 1; level <= 9; level += 8)
        for (int small = 0; small <= 1; small++) {
            unsigned length = room, out = size;
            int status = BZ2_bzBuffToBuffCompress(packed, &length, text, size, level, 0, 30);
            memset(back, 0, size);
            int undo = BZ2_bzBuffToBuffDecompress(back, &out, packed, length, small, 0);
            int same = status == BZ_OK && undo == BZ_OK && out == size && memcmp(text, back, size) == 0;
            printf("level %d%s: %u bytes, %s\n", level, small ? " small" : "", length, same ? "same" : "DIFFERENT");
            failed |= !same;
        }
    unsigned length = room, out = size;
    BZ2_bzBuffToBuffCompress(packed, &length, text, size, 5, 0, 30);
    packed[length / 2] ^= 0x55;
    int status = BZ2_bzBuffToBuffDecompress(back, &out, packed, length, 0, 0);
    printf("damaged: %s\n", status == BZ_OK ? "ACCEPTED" : "refused");
    failed |= status == BZ_OK;
    free(text), free(packed), free(back);
    return failed;
}
