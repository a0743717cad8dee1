/* Kernels whose traffic in lines of 64 bytes is known from first principles; -DKERNEL chooses one. Arrays begin at a line and are far larger
 * than the small memory. What each must move is in tests/tests/lines.rs. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define COPY 1
#define SCALE 2
#define ADD 3
#define TRIAD 4
#define TRANSPOSE 5
#define BLOCKED_TRANSPOSE 6
#define ROW_WALK 7
#define COLUMN_WALK 8
#define STRUCTURES 9
#define RECORDS 10
#define TWO_LOOPS 11

#ifndef SIZE
#define SIZE 48
#endif
#ifndef OFFSET
#define OFFSET 0
#endif

enum { N = 1 << 20, SIDE = 1024, COUNT = 4096 };

_Alignas(4096) double a[N], b[N], c[N];
_Alignas(4096) unsigned char bytes[(size_t)COUNT * 4096 + 4096];

__attribute__((noinline)) double kernel(double s) {
#if KERNEL == COPY
    for (size_t i = 0; i < N; i++)
        c[i] = a[i];
#elif KERNEL == SCALE
    for (size_t i = 0; i < N; i++)
        b[i] = s * c[i];
#elif KERNEL == ADD
    for (size_t i = 0; i < N; i++)
        c[i] = a[i] + b[i];
#elif KERNEL == TRIAD
    for (size_t i = 0; i < N; i++)
        a[i] = b[i] + s * c[i];
#elif KERNEL == TRANSPOSE
    for (size_t i = 0; i < SIDE; i++)
        for (size_t j = 0; j < SIDE; j++)
            b[j * SIDE + i] = a[i * SIDE + j];
#elif KERNEL == BLOCKED_TRANSPOSE
    for (size_t i = 0; i < SIDE; i += 8)
        for (size_t j = 0; j < SIDE; j += 8)
            for (size_t x = i; x < i + 8; x++)
                for (size_t y = j; y < j + 8; y++)
                    b[y * SIDE + x] = a[x * SIDE + y];
#elif KERNEL == ROW_WALK || KERNEL == COLUMN_WALK
    for (size_t i = 0; i < SIDE; i++)
        for (size_t j = 0; j < SIDE; j++)
            s += KERNEL == ROW_WALK ? a[i * SIDE + j] : a[j * SIDE + i];
#elif KERNEL == STRUCTURES
    /* All 48 bytes of structures that are SIZE bytes apart. */
    for (size_t i = 0; i < COUNT; i++)
        for (size_t field = 0; field < 6; field++)
            s += ((volatile double *)(bytes + i * SIZE))[field];
#elif KERNEL == RECORDS
    /* Every second of records of 64 bytes, which begin OFFSET bytes after a line does. */
    for (size_t i = 0; i < COUNT; i++)
        for (size_t field = 0; field < 8; field++)
            s += ((volatile double *)(bytes + OFFSET + i * 128))[field];
#elif KERNEL == TWO_LOOPS
    for (size_t i = 0; i < SIDE; i++)
        for (size_t j = 0; j < SIDE; j++)
            b[j * SIDE + i] = a[i * SIDE + j];
    for (size_t i = 0; i < N; i++)
        c[i] += s;
#endif
    return s;
}

int main(void) {
    double s = 3;
    for (size_t i = 0; i < N; i++)
        a[i] = b[i] = c[i] = (double)(i % 7);
    for (size_t i = 0; i < sizeof bytes; i += 64)
        bytes[i] = 1;
    for (int pass = 0; pass < 3; pass++)
        s += kernel(pass);
    printf("%g\n", s + a[5] + b[6] + c[7]);
    return 0;
}
