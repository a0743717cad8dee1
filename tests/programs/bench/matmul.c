/* Benchmark: C = A B of n x n doubles, i-j-k (default n = 300). Compile with clang -O2 -fno-vectorize -fno-slp-vectorize. */
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) void matmul(int n, const double *restrict a, const double *restrict b, double *restrict c) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int k = 0; k < n; k++)
                sum += a[i * n + k] * b[k * n + j];
            c[i * n + j] = sum;
        }
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 300;
    if (n <= 0)
        return 2;
    size_t count = (size_t)n * (size_t)n;
    double *a = malloc(count * sizeof *a), *b = malloc(count * sizeof *b), *c = malloc(count * sizeof *c), sum = 0;
    if (!a || !b || !c)
        return 1;
    for (size_t i = 0; i < count; i++) {
        a[i] = (double)(i * 7 % 13);
        b[i] = (double)(i * 11 % 13);
    }
    matmul(n, a, b, c);
    for (size_t i = 0; i < count; i++)
        sum += c[i] * (double)(i % 5 + 1);
    printf("matmul %d: %.0f\n", n, sum);
    free(a), free(b), free(c);
    return 0;
}
