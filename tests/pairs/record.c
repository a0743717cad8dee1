// variants: structure_of_arrays array_of_structures
#include "pair.h"
enum { N = 1 << 20, READS = 700000 };
// All fields of random records are read.
#ifdef VARIANT_array_of_structures
static struct { long f[4]; } p[N];
#define F(i, k) p[i].f[k]
#else
static struct { long f[4][N]; } p;
#define F(i, k) p.f[k][i]
#endif
int main(void) {
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 4; k++) F(i, k) = i ^ k;
    long sum = 0;
    for (int r = 0; r < READS; r++) {
        uint32_t i = random_number() % N;
        sum += F(i, 0) + F(i, 1) * 3 + F(i, 2) * 5 + F(i, 3) * 7;
    }
    printf("%ld\n", sum);
}
