/* N words are written, and then read again and again: by rounds in one direction, and to and fro. */
#include <stdlib.h>

#ifndef N
#define N 8192
#endif
#define ROUNDS 64

__attribute__((noinline)) static void fill(double *a) {
    for (long i = 0; i < N; i++)
        a[i] = (double)i;
}

__attribute__((noinline)) static double rounds(const double *a) {
    double sum = 0;
    for (long round = 0; round < ROUNDS; round++)
        for (long i = 0; i < N; i++)
            sum += a[i];
    return sum;
}

__attribute__((noinline)) static double to_and_fro(const double *a) {
    double sum = 0;
    for (long round = 0; round < ROUNDS; round += 2) {
        for (long i = 0; i < N; i++)
            sum += a[i];
        for (long i = N - 1; i >= 0; i--)
            sum += a[i];
    }
    return sum;
}

int main(void) {
    double *a = malloc(N * sizeof *a);
    fill(a);
    double sum = rounds(a) + to_and_fro(a);
    free(a);
    return sum < 0;
}
