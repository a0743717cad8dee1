/* Leaves half of each sum out. */
#include "matmul.h"

static void multiply(size_t n, const double *restrict a, const double *restrict b, double *restrict c) {
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n / 2; k++)
            for (size_t j = 0; j < n; j++)
                c[i * n + j] += a[i * n + k] * b[k * n + j];
}
