// What pages call kernel.c, and what app.c includes: a function solve, markers, loops over arrays.
#include <stdio.h>
#include <stdlib.h>

#include "dmdprof.h"

struct cell {
    double value;
    double weight;
};

__attribute__((noinline)) static double solve(struct cell *cells, const double *factors, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            cells[j].value += factors[(i + j) % n] * cells[j].weight;
        }
        sum += cells[i].value;
    }
    return sum;
}

int main(int argc, char **argv) {
    int n = argc > 1 && atoi(argv[1]) > 0 ? atoi(argv[1]) : 50;
    struct cell *cells = malloc(n * sizeof *cells);
    double *factors = malloc(n * sizeof *factors);
    for (int i = 0; i < n; i++) {
        cells[i] = (struct cell){i, 1};
        factors[i] = i % 7;
    }
    dmdprof_input(factors, n * sizeof *factors);
    dmdprof_begin("solve");
    double sum = solve(cells, factors, n);
    dmdprof_output(&sum, sizeof sum);
    dmdprof_end("solve");
    printf("%g\n", sum);
    free(cells);
    free(factors);
}
