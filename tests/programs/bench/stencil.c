/* Benchmark: 5-point stencil on n x n doubles, s steps (default 1500, 10).
 * Compile with clang -O2 -fno-vectorize -fno-slp-vectorize. */
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) void step(int n, const double *restrict from, double *restrict to) {
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++) {
            const double *at = from + i * n + j;
            to[i * n + j] = 0.25 * at[0] + 0.1875 * (at[-n] + at[-1] + at[1] + at[n]);
        }
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 1500, steps = argc > 2 ? atoi(argv[2]) : 10;
    if (n < 3)
        return 2;
    size_t count = (size_t)n * (size_t)n;
    double *u = malloc(count * sizeof *u), *v = malloc(count * sizeof *v), sum = 0;
    if (!u || !v)
        return 1;
    for (size_t i = 0; i < count; i++)
        u[i] = v[i] = (double)(i * 31 % 64);
    for (int s = 0; s < steps; s++) {
        step(n, u, v);
        double *swap = u;
        u = v, v = swap;
    }
    for (size_t i = 0; i < count; i++)
        sum += u[i];
    printf("stencil %d x %d: %.3f\n", n, steps, sum);
    free(u), free(v);
    return 0;
}
