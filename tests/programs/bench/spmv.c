/* Benchmark: sparse matrix in compressed rows times vector, half of its columns random (default 60000 rows, 16 columns,
 * 12 products). Compile with clang -O2 -fno-vectorize -fno-slp-vectorize. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint32_t state = 7;

static uint32_t random_number(void) {
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

__attribute__((noinline)) void multiply(int rows, const int *start, const int *column, const double *value,
                                        const double *x, double *y) {
    for (int i = 0; i < rows; i++) {
        double sum = 0;
        for (int j = start[i]; j < start[i + 1]; j++) sum += value[j] * x[column[j]];
        y[i] = sum;
    }
}

int main(int argc, char **argv) {
    int rows = argc > 1 ? atoi(argv[1]) : 60000, most = argc > 2 ? atoi(argv[2]) : 16;
    int products = argc > 3 ? atoi(argv[3]) : 12, entries = 0;
    int *start = malloc((rows + 1) * sizeof *start), *column = malloc((size_t)rows * most * sizeof *column);
    double *value = malloc((size_t)rows * most * sizeof *value);
    double *x = malloc(rows * sizeof *x), *y = malloc(rows * sizeof *y);
    for (int i = 0; i < rows; i++) {
        int here = most / 2 + random_number() % (most / 2);
        start[i] = entries;
        for (int j = 0; j < here; j++, entries++) {
            column[entries] = random_number() & 1 ? (int)(random_number() % rows) : (i + j * 3) % rows;
            value[entries] = 1.0 / (1 + j);
        }
        x[i] = 1.0;
    }
    start[rows] = entries;
    for (int product = 0; product < products; product++) {
        multiply(rows, start, column, value, x, y);
        double largest = 0;
        for (int i = 0; i < rows; i++) largest = y[i] > largest ? y[i] : largest;
        for (int i = 0; i < rows; i++) x[i] = y[i] / largest;
    }
    double total = 0;
    for (int i = 0; i < rows; i++) total += x[i];
    printf("spmv %d %d %d: %g\n", rows, most, products, total);
    return 0;
}
