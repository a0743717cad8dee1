/* Library calls are priced by their meaning: strlen reads up to and including the terminator, memchr up to the match.
 * Live before the kernel: 64 bytes, written ascending: LENGTH letters (fewer than 63), a zero, letters again.
 * strlen reads bytes 0 .. LENGTH, found below the rest: depths 64 - LENGTH .. 64. memchr of the MATCH-th letter
 * (MATCH < LENGTH) in 64 bytes reads bytes 0 .. MATCH, which now lie below bytes MATCH+1 .. LENGTH. */
#include "truth.h"

#ifndef LENGTH
#define LENGTH 40
#endif
#ifndef MATCH
#define MATCH 9
#endif

NOINLINE size_t kernel(const char *text) {
    size_t length = strlen(text);
    const char *match = memchr(text, 'a' + MATCH, 64);
    return 100 * length + (size_t)(match - text);
}

static NOINLINE void fill_text(volatile char *text) {
    for (int i = 0; i < 64; i++)
        text[i] = i == LENGTH ? 0 : (char)('a' + i % 26);
}

int main(void) {
    char *text = must(malloc(64));
    fill_text(text);
    size_t found = kernel(text);
    printf("%zu\n", found);
    return 0;
}
