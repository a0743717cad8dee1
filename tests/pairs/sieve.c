// variants: whole segments
#include "pair.h"
enum { N = 4000000, ROOT = 2000, SEGMENT = 32768 };
static uint8_t composite[N + SEGMENT];
int main(void) {
    long primes = 0;
#ifdef VARIANT_whole
    for (long p = 2; p <= ROOT; p++)
        if (!composite[p])
            for (long m = p * p; m < N; m += p) composite[m] = 1;
    for (long i = 2; i < N; i++) primes += !composite[i];
#else
    uint8_t small[ROOT + 1] = {0}, segment[SEGMENT];
    long prime[ROOT], next[ROOT], count = 0;
    for (long p = 2; p <= ROOT; p++)
        if (!small[p]) {
            prime[count] = p, next[count++] = p * p;
            for (long m = p * p; m <= ROOT; m += p) small[m] = 1;
        }
    for (long low = 0; low < N; low += SEGMENT) {
        long size = N - low < SEGMENT ? N - low : SEGMENT;
        memset(segment, 0, SEGMENT);
        for (long k = 0; k < count; k++) {
            long m = next[k] - low;
            for (; m < size; m += prime[k]) segment[m] = 1;
            next[k] = m + low;
        }
        for (long i = low ? 0 : 2; i < size; i++) primes += !segment[i];
    }
#endif
    printf("%ld\n", primes);
}
