// variants: coordinates rows
#include "pair.h"
enum { N = 100000, NNZ = 800000 };
// A sparse matrix times a vector: entries in random order with both coordinates, or row by row with columns near the diagonal.
static uint32_t row[NNZ], column[NNZ], value[NNZ], x[N], y[N];
int main(void) {
    uint32_t *order = shuffled(NNZ);
    for (uint32_t k = 0; k < NNZ; k++) {
#ifdef VARIANT_coordinates
        uint32_t e = order[k];
#else
        uint32_t e = k;
#endif
        row[e] = k / 8, column[e] = (k / 8 + k % 8 * 5) % N, value[e] = k % 5;
    }
    for (int i = 0; i < N; i++) x[i] = i % 3;
    for (int t = 0; t < 2; t++)
        for (uint32_t e = 0; e < NNZ; e++) y[row[e]] += value[e] * x[column[e]];
    uint64_t sum = order[0] > NNZ;
    for (int i = 0; i < N; i++) sum += y[i];
    printf("%llu\n", (unsigned long long)sum);
}
