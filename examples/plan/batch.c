// A nightly batch job: the correlations between the columns of a table of records.
//
// Two passes over RECORDS x COLUMNS doubles, one for the means and one for the products of all pairs. Each record adds COLUMNS^2 products to a
// matrix that stays near, so that the traffic is the table (38 MB), twice.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define RECORDS 200000
#define COLUMNS 24

static double mean[COLUMNS], product[COLUMNS][COLUMNS];

static void means(const double *table) {
    for (int r = 0; r < RECORDS; r++)
        for (int c = 0; c < COLUMNS; c++)
            mean[c] += table[r * COLUMNS + c] / RECORDS;
}

static void products(const double *table) {
    for (int r = 0; r < RECORDS; r++) {
        double centred[COLUMNS];
        for (int c = 0; c < COLUMNS; c++)
            centred[c] = table[r * COLUMNS + c] - mean[c];
        for (int a = 0; a < COLUMNS; a++)
            for (int b = 0; b < COLUMNS; b++)
                product[a][b] += centred[a] * centred[b];
    }
}

int main(void) {
    double *table = malloc(sizeof(double) * RECORDS * COLUMNS);
    unsigned seed = 7;
    for (int i = 0; i < RECORDS * COLUMNS; i++) {
        seed = seed * 1664525u + 1013904223u;
        table[i] = (seed >> 16) / 65536.0 + (i % COLUMNS) * 0.01 * (i / COLUMNS % 7);
    }
    means(table);
    products(table);
    double most = 0.0;
    for (int a = 0; a < COLUMNS; a++)
        for (int b = 0; b < a; b++) {
            double r = product[a][b] / sqrt(product[a][a] * product[b][b]);
            if (fabs(r) > fabs(most))
                most = r;
        }
    printf("batch %d x %d: largest correlation %.6f\n", RECORDS, COLUMNS, most);
    free(table);
    return 0;
}
