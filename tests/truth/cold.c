/* Inputs: memory that is read before anything wrote it, in a zeroed allocation and in a static array of N words each.
 * Live before the kernel: one word.
 * A zeroed page is nothing on the stack until it is read. A cold word enters below everything that is live: word i of the
 * first pass, over both arrays, at depths 8(i+1)+1 .. 8(i+1)+8. The second pass finds all 2N words: 16N-7 .. 16N. */
#include "truth.h"

#ifndef N
#define N 128
#endif

static word statics[N];

NOINLINE uint64_t kernel(word *zeroed) {
    uint64_t sum = 0;
    for (size_t pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < N; i++)
            sum += zeroed[i];
        for (size_t i = 0; i < N; i++)
            sum += statics[i];
    }
    return sum;
}

int main(void) {
    word *one = must(malloc(8));
    *one = 7;
    word *zeroed = must(calloc(N, 8));
    uint64_t sum = kernel(zeroed);
    printf("%" PRIu64 "\n", sum);
    return 0;
}
