/* Common to the kernels: sizes from the command line, inputs with harmless values, blocks of matrices, and the results on
 * request. Nothing is ever freed: the programs end soon. */
#ifndef KERNEL_H
#define KERNEL_H

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../runtime/markers/include/dmdprof.h"

typedef double real;

/* The number in the word NAME=NUMBER of the command line. */
static inline long parameter(int argc, char **argv, const char *name) {
    size_t length = strlen(name);
    for (int i = 1; i < argc; i++)
        if (strncmp(argv[i], name, length) == 0 && argv[i][length] == '=')
            return strtol(argv[i] + length + 1, NULL, 10);
    fprintf(stderr, "%s: needs %s=NUMBER\n", argv[0], name);
    exit(2);
}

static inline void *room(size_t bytes) {
    void *memory = calloc(1, bytes ? bytes : 1);
    if (!memory)
        abort();
    return memory;
}

static inline real *vector(size_t n) {
    return (real *)room(n * sizeof(real));
}

/* n numbers between 1 and 2, no two neighbours equal. */
static inline real *filled(size_t n) {
    real *x = vector(n);
    for (size_t i = 0; i < n; i++)
        x[i] = 1 + (real)(i * 7 % 13) / 16;
    return x;
}

static inline void declare(const real *x, size_t n) {
    dmdprof_input(x, n * sizeof *x);
}

/* The next argument of the kernel: n numbers. */
static inline real *input(size_t n) {
    real *x = filled(n);
    declare(x, n);
    return x;
}

static inline void output(const real *x, size_t n) {
    dmdprof_output(x, n * sizeof *x);
}

/* The results as they are in memory, if the last word of the command line is `print`. */
static inline void show_bytes(int argc, char **argv, const void *memory, size_t bytes) {
    if (argc < 2 || strcmp(argv[argc - 1], "print") != 0)
        return;
    for (size_t i = 0; i < bytes; i++)
        printf("%02x", ((const unsigned char *)memory)[i]);
    printf("\n");
}

static inline void show(int argc, char **argv, const real *x, size_t n) {
    show_bytes(argc, argv, x, n * sizeof *x);
}

/* The h x h block of the 2h x 2h matrix a at block row i, block column j. */
static inline real *block(size_t h, const real *a, size_t i, size_t j) {
    real *b = vector(h * h);
    for (size_t r = 0; r < h; r++)
        for (size_t c = 0; c < h; c++)
            b[r * h + c] = a[(i * h + r) * 2 * h + j * h + c];
    return b;
}

/* The opposite of block: puts b into a. */
static inline void place(size_t h, real *a, size_t i, size_t j, const real *b) {
    for (size_t r = 0; r < h; r++)
        for (size_t c = 0; c < h; c++)
            a[(i * h + r) * 2 * h + j * h + c] = b[r * h + c];
}

/* Sum of h x h matrices, elementwise. */
static inline real *sum(size_t h, const real *a, const real *b) {
    real *c = vector(h * h);
    for (size_t i = 0; i < h * h; i++)
        c[i] = a[i] + b[i];
    return c;
}

/* Difference of h x h matrices, elementwise. */
static inline real *difference(size_t h, const real *a, const real *b) {
    real *c = vector(h * h);
    for (size_t i = 0; i < h * h; i++)
        c[i] = a[i] - b[i];
    return c;
}

#endif
