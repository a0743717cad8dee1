/* Kernels whose accesses are all volatile: what hooks see of a line of them is what its instructions do. Each line of a
 * kernel is one statement, so that reports by line can be compared. */
#include <stdint.h>
#include <stdio.h>

#define N 48
#define PAGES __attribute__((aligned(4096)))

static volatile double a[N][N] PAGES, b[N][N] PAGES, c[N][N] PAGES;
static volatile uint32_t next[4096] PAGES;
static volatile uint16_t counts[256] PAGES;
static volatile uint8_t text[8192] PAGES;

__attribute__((noinline)) void product(void) {
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            a[i][j] = i + j;
            b[i][j] = i - j;
            c[i][j] = 0;
        }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            for (int k = 0; k < N; k++)
                c[i][j] += a[i][k] * b[k][j];
}

__attribute__((noinline)) void chase(void) {
    for (uint32_t i = 0; i < 4096; i++)
        next[i] = (i * 1229 + 7) & 4095;
    uint32_t at = 1;
    for (int i = 0; i < 20000; i++)
        at = next[at];
    next[0] = at;
}

__attribute__((noinline)) void count(void) {
    for (int i = 0; i < 256; i++)
        counts[i] = 0;
    for (uint32_t i = 0; i < sizeof text; i++)
        text[i] = (uint8_t)((i * 2654435761u) >> 13);
    for (int pass = 0; pass < 3; pass++)
        for (uint32_t i = 0; i < sizeof text; i++)
            counts[text[i]]++;
}

int main(void) {
    product();
    chase();
    count();
    printf("%g %u %u\n", c[3][5], next[0], counts[17]);
    return 0;
}
