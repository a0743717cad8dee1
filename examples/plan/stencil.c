// A five-point stencil on one node's part of a grid, with the halo that the neighbours would send in arrays of its own.
//
// Before each step the four edges are taken from halo_north, halo_south, halo_west and halo_east, which the neighbours would send. What a node
// gets and sends per step is what these arrays hold, EDGE doubles each: `4 x object halo_north` in examples/plan/stencil.toml.

#include <stdio.h>
#include <string.h>

#define EDGE 512
#define STEPS 20

static double grid[EDGE + 2][EDGE + 2];
static double next[EDGE + 2][EDGE + 2];
static double halo_north[EDGE], halo_south[EDGE], halo_west[EDGE], halo_east[EDGE];

static void receive(void) {
    memcpy(&grid[0][1], halo_north, sizeof halo_north);
    memcpy(&grid[EDGE + 1][1], halo_south, sizeof halo_south);
    for (int i = 0; i < EDGE; i++) {
        grid[i + 1][0] = halo_west[i];
        grid[i + 1][EDGE + 1] = halo_east[i];
    }
}

// The neighbours are mirror images of this node: what it sends is what it gets.
static void send(void) {
    memcpy(halo_north, &grid[1][1], sizeof halo_north);
    memcpy(halo_south, &grid[EDGE][1], sizeof halo_south);
    for (int i = 0; i < EDGE; i++) {
        halo_west[i] = grid[i + 1][1];
        halo_east[i] = grid[i + 1][EDGE];
    }
}

static void step(void) {
    for (int i = 1; i <= EDGE; i++)
        for (int j = 1; j <= EDGE; j++)
            next[i][j] = 0.2 * (grid[i][j] + grid[i - 1][j] + grid[i + 1][j] + grid[i][j - 1] + grid[i][j + 1]);
    memcpy(grid, next, sizeof grid);
}

int main(void) {
    for (int i = 1; i <= EDGE; i++)
        for (int j = 1; j <= EDGE; j++)
            grid[i][j] = (i * 31 + j * 17) % 101;
    send();
    for (int t = 0; t < STEPS; t++) {
        receive();
        step();
        send();
    }
    double sum = 0.0;
    for (int i = 1; i <= EDGE; i++)
        for (int j = 1; j <= EDGE; j++)
            sum += grid[i][j];
    printf("stencil %d x %d, %d steps: %.6f\n", EDGE, EDGE, STEPS, sum);
    return 0;
}
