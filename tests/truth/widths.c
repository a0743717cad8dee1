/* Bytes, not words: ACCESSES loads and stores of 1, 2, 4 and 8 bytes at any alignment inside N + 8 bytes, in an order that
 * a linear congruential generator dictates. Wide loads over narrow stores, narrow loads out of wide ones, partial
 * overwrites: every byte has its own place, and the bytes of one access lie in address order, the highest on top.
 * Live before the kernel: the N + 8 bytes, written as bytes, ascending. */
#include "truth.h"

#ifndef N
#define N 248
#endif
#ifndef ACCESSES
#define ACCESSES 4000
#endif

typedef volatile uint8_t __attribute__((aligned(1))) any8;
typedef volatile uint16_t __attribute__((aligned(1))) any16;
typedef volatile uint32_t __attribute__((aligned(1))) any32;
typedef volatile uint64_t __attribute__((aligned(1))) any64;

NOINLINE uint64_t kernel(unsigned char *bytes) {
    uint64_t sum = 0, x = 1;
    for (size_t i = 0; i < ACCESSES; i++) {
        x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        unsigned char *at = bytes + (x >> 33) % (N + 1);
        switch (x >> 29 & 7) {
        case 0: sum += *(any8 *)at; break;
        case 1: sum += *(any16 *)at; break;
        case 2: sum += *(any32 *)at; break;
        case 3: sum += *(any64 *)at; break;
        case 4: *(any8 *)at = (uint8_t)x; break;
        case 5: *(any16 *)at = (uint16_t)x; break;
        case 6: *(any32 *)at = (uint32_t)x; break;
        case 7: *(any64 *)at = x; break;
        }
    }
    return sum;
}

static NOINLINE void fill_bytes(volatile unsigned char *bytes) {
    for (size_t i = 0; i < N + 8; i++)
        bytes[i] = (unsigned char)i;
}

int main(void) {
    unsigned char *bytes = must(malloc(N + 8));
    fill_bytes(bytes);
    uint64_t sum = kernel(bytes);
    printf("%" PRIu64 "\n", sum);
    return 0;
}
