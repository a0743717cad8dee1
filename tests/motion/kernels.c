/* The nests whose motion is known: dmdprof motion kernels.c NAME SIZES...
 *
 * Sizes come from the command line and arrays are volatile, so that -O1 keeps each loop and each access as it is written. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 16 };
static volatile double A[MOST * MOST], B[MOST * MOST], C[MOST * MOST];
static volatile double Input[MOST], Weight[MOST], Output[MOST];
static volatile double U[MOST], V[MOST];

static void conv_os(int Q, int S) {
    for (int q = 0; q < Q; q++)
        for (int s = 0; s < S; s++)
            Output[q] += Input[q + s] * Weight[s];
}

static void conv_ws(int Q, int S) {
    for (int s = 0; s < S; s++)
        for (int q = 0; q < Q; q++)
            Output[q] += Input[q + s] * Weight[s];
}

static void conv_tiled(int Q, int S, int T) {
    for (int b = 0; b < Q; b += T)
        for (int s = 0; s < S; s++)
            for (int q = b; q < b + T; q++)
                Output[q] += Input[q + s] * Weight[s];
}

static void matmul_ijk(int n) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++)
                C[i * n + j] += A[i * n + k] * B[k * n + j];
}

static void matmul_ikj(int n) {
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            for (int j = 0; j < n; j++)
                C[i * n + j] += A[i * n + k] * B[k * n + j];
}

static void matmul_kij(int n) {
    for (int k = 0; k < n; k++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                C[i * n + j] += A[i * n + k] * B[k * n + j];
}

static void matmul_tiled(int n, int t) {
    for (int bi = 0; bi < n; bi += t)
        for (int bj = 0; bj < n; bj += t)
            for (int bk = 0; bk < n; bk += t)
                for (int i = bi; i < bi + t; i++)
                    for (int j = bj; j < bj + t; j++)
                        for (int k = bk; k < bk + t; k++)
                            C[i * n + j] += A[i * n + k] * B[k * n + j];
}

static void jacobi1d(int n, int T) {
    volatile double *from = U, *to = V;
    for (int t = 0; t < T; t++) {
        for (int i = 1; i < n - 1; i++)
            to[i] = from[i - 1] + from[i] + from[i + 1];
        volatile double *other = from;
        from = to;
        to = other;
    }
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    const char *name = argv[1];
    int x = atoi(argv[2]), y = argc > 3 ? atoi(argv[3]) : 0, z = argc > 4 ? atoi(argv[4]) : 0;
    if (!strcmp(name, "conv_os")) conv_os(x, y);
    else if (!strcmp(name, "conv_ws")) conv_ws(x, y);
    else if (!strcmp(name, "conv_tiled")) conv_tiled(x, y, z);
    else if (!strcmp(name, "matmul_ijk")) matmul_ijk(x);
    else if (!strcmp(name, "matmul_ikj")) matmul_ikj(x);
    else if (!strcmp(name, "matmul_kij")) matmul_kij(x);
    else if (!strcmp(name, "matmul_tiled")) matmul_tiled(x, y);
    else if (!strcmp(name, "jacobi1d")) jacobi1d(x, y);
    else return 2;
    return 0;
}
