/* Which two columns of a table go together best? Prints the pair with the largest correlation.
 *
 *     correlate TABLE.csv         rows of numbers with commas between them
 *     correlate ROWS COLUMNS      a table made up here
 *
 * The program of the tutorial, docs/tutorial.md. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct table {
    size_t rows, columns;
    double *cells; /* row by row */
};

static void *need(void *memory) {
    if (!memory) {
        fprintf(stderr, "correlate: out of memory\n");
        exit(1);
    }
    return memory;
}

__attribute__((noinline)) static struct table read_csv(const char *path) {
    FILE *file = fopen(path, "r");
    if (!file) {
        perror(path);
        exit(1);
    }
    struct table table = {0, 0, NULL};
    size_t room = 0, used = 0;
    char line[65536];
    while (fgets(line, sizeof line, file)) {
        size_t before = used;
        for (char *word = strtok(line, ",\n"); word; word = strtok(NULL, ",\n")) {
            if (used == room) {
                room = room ? 2 * room : 1024;
                table.cells = need(realloc(table.cells, room * sizeof *table.cells));
            }
            table.cells[used++] = strtod(word, NULL);
        }
        if (table.rows && used - before != table.columns) {
            fprintf(stderr, "%s: row %zu has %zu columns, not %zu\n", path, table.rows + 1, used - before, table.columns);
            exit(1);
        }
        table.columns = used - before;
        table.rows++;
    }
    fclose(file);
    return table;
}

__attribute__((noinline)) static struct table make_up(size_t rows, size_t columns) {
    struct table table = {rows, columns, need(malloc(rows * columns * sizeof(double)))};
    unsigned state = 1;
    for (size_t i = 0; i < rows * columns; i++) {
        state = state * 1103515245u + 12345u;
        table.cells[i] = (double)(state >> 16) / 65536;
    }
    return table;
}

/* Each column minus its mean. */
__attribute__((noinline)) static void centre(struct table *table) {
    double *mean = need(calloc(table->columns, sizeof *mean));
    for (size_t r = 0; r < table->rows; r++)
        for (size_t c = 0; c < table->columns; c++)
            mean[c] += table->cells[r * table->columns + c];
    for (size_t c = 0; c < table->columns; c++)
        mean[c] /= (double)table->rows;
    for (size_t r = 0; r < table->rows; r++)
        for (size_t c = 0; c < table->columns; c++)
            table->cells[r * table->columns + c] -= mean[c];
    free(mean);
}

/* products[a * columns + b], for b >= a: the sum over all rows of column a times column b. */
__attribute__((noinline)) static void multiply(const struct table *table, double *restrict products) {
    const size_t columns = table->columns;
    const double *cells = table->cells;
    for (size_t a = 0; a < columns; a++)
        for (size_t b = a; b < columns; b++)
            for (size_t r = 0; r < table->rows; r++)
                products[a * columns + b] += cells[r * columns + a] * cells[r * columns + b];
}

__attribute__((noinline)) static void print_best(const double *products, size_t columns) {
    double best = -2;
    size_t best_a = 0, best_b = 0;
    for (size_t a = 0; a < columns; a++)
        for (size_t b = a + 1; b < columns; b++) {
            double spread = sqrt(products[a * columns + a] * products[b * columns + b]);
            double correlation = spread > 0 ? products[a * columns + b] / spread : 0;
            if (correlation > best) {
                best = correlation;
                best_a = a, best_b = b;
            }
        }
    printf("columns %zu and %zu: %.4f\n", best_a + 1, best_b + 1, best);
}

int main(int argc, char **argv) {
    if (argc != 2 && argc != 3) {
        fprintf(stderr, "usage: correlate TABLE.csv, or correlate ROWS COLUMNS\n");
        return 2;
    }
    struct table table =
        argc == 2 ? read_csv(argv[1]) : make_up(strtoul(argv[1], NULL, 10), strtoul(argv[2], NULL, 10));
    double *products = need(calloc(table.columns * table.columns, sizeof *products));
    centre(&table);
    multiply(&table, products);
    print_best(products, table.columns);
    free(products), free(table.cells);
    return 0;
}
