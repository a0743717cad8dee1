/* Loops that are regular in different ways: vectors that overlap, accesses of several sizes, structures, bodies with branches, whose
   iterations are several records, streams that meet, and ways back and across. */
#include <stdio.h>
#include <string.h>

#define N 120
#define PASSES 8
#define LOOP __attribute__((noinline))

struct particle {
    double x, y, z;
    int id;
    float mass;
};

static double a[N][N], b[N][N];
static float f[N][N], g[N][N];
static int indices[N * N];
static int paths[N / 2][N / 2];
static struct particle particles[4000];

LOOP static void stencil(void) {
    for (int i = 1; i < N - 1; i++)
        for (int j = 1; j < N - 1; j++)
            b[i][j] = 0.2 * (a[i][j] + a[i][j - 1] + a[i][j + 1] + a[i - 1][j] + a[i + 1][j]);
}

LOOP static void shift(void) {
    for (int i = 0; i < N; i++)
        for (int j = 0; j + 1 < N; j++)
            g[i][j] = f[i][j] + f[i][j + 1];
}

LOOP static double weigh(void) {
    double sum = 0;
    for (int i = 0; i < N * N; i++)
        sum += indices[i] * (&a[0][0])[i];
    return sum;
}

LOOP static void convert(void) {
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            f[i][j] = (float)(b[i][j] * indices[i * N + j]);
}

LOOP static void move(double dt) {
    for (int i = 0; i < 4000; i++) {
        particles[i].x += dt * particles[i].mass;
        particles[i].y += dt * particles[i].id;
        if (particles[i].z > 1e9)
            particles[i].id++;
    }
}

LOOP static double choose(void) {
    double sum = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            if (b[i][j] > 1e9)
                sum += a[i][j];
            else
                sum -= f[i][j];
    return sum;
}

LOOP static void shorten(void) {
    for (int k = 0; k < N / 2; k++)
        for (int i = 0; i < N / 2; i++)
            for (int j = 0; j < N / 2; j++) {
                int way = paths[i][k] + paths[k][j];
                paths[i][j] = paths[i][j] < way ? paths[i][j] : way;
            }
}

LOOP static void sweep(void) {
    for (int i = 1; i < N - 1; i++) {
        for (int j = 1; j < N - 1; j++)
            b[i][j] = 0.3 * a[j][i - 1] + 0.4 * a[j][i] - 0.1 * b[i][j - 1];
        for (int j = N - 2; j >= 1; j--)
            a[j][i] = 0.3 * b[i][j] + 0.2 * a[j + 1][i] + 0.1 * b[i][j - 1];
    }
}

int main(void) {
    double sum = 0;
    for (int i = 0; i < N * N; i++) {
        indices[i] = i;
        (&paths[0][0])[i / 4] = i % 97;
        (&a[0][0])[i] = i * 0.001;
    }
    for (int pass = 0; pass < PASSES; pass++) {
        stencil();
        sum += weigh();
        convert();
        shift();
        move(0.1);
        sum += choose();
        sweep();
        memcpy(a, b, sizeof a);
    }
    shorten();
    printf("%g\n", sum + paths[5][7] + g[3][4] + particles[7].x);
    return 0;
}
