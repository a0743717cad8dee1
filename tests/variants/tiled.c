#include "matmul.h"

enum { TILE = 8 };

/* n is a multiple of TILE. */
static void multiply(size_t n, const double *restrict a, const double *restrict b, double *restrict c) {
    for (size_t k0 = 0; k0 < n; k0 += TILE)
        for (size_t j0 = 0; j0 < n; j0 += TILE)
            for (size_t i = 0; i < n; i++)
                for (size_t k = k0; k < k0 + TILE; k++)
                    for (size_t j = j0; j < j0 + TILE; j++)
                        c[i * n + j] += a[i * n + k] * b[k * n + j];
}
