/* C = A B of n x n doubles: everything but the product, which each variant defines. Prints the sum of C, or, with a second
 * argument, declares C as an output. */
#include <stdio.h>
#include <stdlib.h>

#include "../../runtime/markers/include/dmdprof.h"

static void multiply(size_t n, const double *restrict a, const double *restrict b, double *restrict c);

int main(int argc, char **argv) {
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 48;
    double *a = malloc(n * n * sizeof *a), *b = malloc(n * n * sizeof *b), *c = calloc(n * n, sizeof *c);
    for (size_t i = 0; i < n * n; i++) {
        a[i] = 1.0 / (double)(1 + i * 7 % 13);
        b[i] = 1.0 / (double)(1 + i * 11 % 17);
    }
    dmdprof_input(a, n * n * sizeof *a);
    dmdprof_input(b, n * n * sizeof *b);
    multiply(n, a, b, c);
    double sum = 0;
    for (size_t i = 0; i < n * n; i++)
        sum += c[i];
    if (argc > 2)
        dmdprof_output(c, n * n * sizeof *c);
    else
        printf("sum: %.17g\n", sum);
    free(a);
    free(b);
    free(c);
    return 0;
}
