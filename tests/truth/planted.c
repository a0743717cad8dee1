/* One reuse planted at a known depth: a word is stored, then K other bytes, then the word is read: the only read of the
 * kernel, at depths K+1 .. K+8, cost S(K+8) - S(K).
 * Live before the kernel: nothing. */
#include "truth.h"

#ifndef K
#define K 1000
#endif

NOINLINE uint64_t kernel(word *marker, volatile unsigned char *bytes) {
    *marker = 7;
    for (size_t i = 0; i < K; i++)
        bytes[i] = (unsigned char)i;
    return *marker;
}

int main(void) {
    word *marker = must(malloc(8));
    volatile unsigned char *bytes = must(malloc(K + 1));
    uint64_t found = kernel(marker, bytes);
    printf("%" PRIu64 "\n", found);
    return 0;
}
