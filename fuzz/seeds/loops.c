/* A nest of loops whose iterations are marked, over data of two threads' worth of steps. */
static double field[2][24][24];

static void step(double (*from)[24], double (*to)[24]) {
    for (int i = 1; i < 23; i++)
        for (int j = 1; j < 23; j++)
            to[i][j] = from[i - 1][j] + from[i + 1][j] + from[i][j - 1] + from[i][j + 1];
}

int main(void) {
    for (int j = 0; j < 24; j++)
        for (int i = 0; i < 24; i++)
            field[0][i][j] = i * j;
    for (int t = 0; t < 3; t++)
        step(field[t % 2], field[1 - t % 2]);
    return field[1][12][12] == 0;
}
