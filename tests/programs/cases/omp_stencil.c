/* Ten sweeps of a stencil over a square, four threads of OpenMP with rows of their own, and the sum by a reduction.
 * Race-free, and each thread has the same rows in every run. */
#include <stdio.h>

#define SIDE 96
#define SWEEPS 10

static long from[SIDE][SIDE], to[SIDE][SIDE];

int main(void) {
    long sum = 0;
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++)
            from[i][j] = i * 7 % 13 + j * 5 % 11;
#pragma omp parallel num_threads(4)
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
#pragma omp for schedule(static)
        for (int i = 1; i < SIDE - 1; i++)
            for (int j = 1; j < SIDE - 1; j++)
                to[i][j] = (from[i - 1][j] + from[i + 1][j] + from[i][j - 1] + from[i][j + 1]) / 4;
#pragma omp for schedule(static)
        for (int i = 1; i < SIDE - 1; i++)
            for (int j = 1; j < SIDE - 1; j++)
                from[i][j] = to[i][j];
    }
#pragma omp parallel for num_threads(4) schedule(static) reduction(+ : sum)
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++)
            sum += from[i][j] * (i + j);
    printf("%ld\n", sum);
    return 0;
}
