#include "matmul.h"

static void multiply(size_t n, const double *restrict a, const double *restrict b, double *restrict c) {
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            for (size_t k = 0; k < n; k++)
                c[i * n + j] += a[i * n + k] * b[k * n + j];
}
