/* Stages over two arrays, so that what one stage writes the next reads: every flow has one answer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 1000
#define STAGE __attribute__((noinline))

STAGE static void fill(double *a) {
    for (int i = 0; i < N; i++)
        a[i] = i;
}

STAGE static void scale(const double *a, double *b) {
    for (int i = 0; i < N; i++)
        b[i] = a[i] * 3;
}

STAGE static double total(const double *a, const double *b) {
    double sum = 0;
    for (int i = 0; i < N; i++)
        sum += a[i] + b[i];
    return sum;
}

STAGE static double all(double *a, double *b) {
    fill(a);
    fill(b);
    scale(a, b);
    scale(a, b);
    fill(a);
    return total(a, b);
}

int main(void) {
    double *a = malloc(N * sizeof *a), *b = malloc(N * sizeof *b);
    if (!a || !b)
        return 1;
    double sum = all(a, b);
    a = realloc(a, 100 * N * sizeof *a);
    if (!a)
        return 1;
    memcpy(a + N, b, N * sizeof *b);
    sum += total(a, a + N);
    printf("%.0f\n", sum);
    free(a);
    free(b);
    return 0;
}
