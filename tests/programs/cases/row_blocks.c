/* A matrix product C += A B in which each of four threads has a block of the rows of A and C, and all of them go
 * through B row by row, again for each row of their own. */
#include <pthread.h>
#include <stdio.h>

#define THREADS 4
#define N 96

static double a[N][N], b[N][N], c[N][N];

static void *rows(void *argument) {
    long self = (long)argument;
    for (long i = self * N / THREADS; i < (self + 1) * N / THREADS; i++)
        for (int k = 0; k < N; k++) {
            double factor = a[i][k];
            for (int j = 0; j < N; j++) {
                double of_b = b[k][j];
                c[i][j] += factor * of_b;
            }
        }
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            a[i][j] = i + j;
            b[i][j] = i - j;
        }
    for (long i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, rows, (void *)i) != 0)
            return 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%.0f\n", c[3][5]);
    return 0;
}
