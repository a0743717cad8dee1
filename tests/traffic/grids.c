/* A stencil with dead grids: in each of STEPS steps a grid of 64 KiB is made, written, read and freed, and then the
   grid that stays, as large, is read.

   `smooth` reads the new grid from the top: 64 KiB deep at most. `apply` reads the grid that stays: on top of what is
   live, so no deeper than 64 KiB, but the dead grid's places are free above it, so that only a memory of more than 64
   KiB, and of 128 KiB for the whole, still has it. The next step's grid fills places that are free. */
#include <stdio.h>
#include <stdlib.h>
#define CELLS 8192

static __attribute__((noinline)) double *made(double first) {
    double *grid = aligned_alloc(64, CELLS * sizeof *grid);
    if (!grid) abort();
    for (int i = 0; i < CELLS; i++) grid[i] = first + i;
    return grid;
}

static __attribute__((noinline)) double smooth(const double *grid) {
    double sum = 0;
    for (int i = 0; i < CELLS; i++) sum += grid[i];
    return sum;
}

static __attribute__((noinline)) double apply(const double *grid) {
    double sum = 1;
    for (int i = 0; i < CELLS; i++) sum -= grid[i];
    return sum;
}

int main(void) {
    double *stays = made(1), sum = 0;
    for (int step = 0; step < STEPS; step++) {
        double *dead = made(step);
        sum += smooth(dead);
        free(dead);
        sum += apply(stays);
    }
    printf("%g\n", sum);
    return 0;
}
