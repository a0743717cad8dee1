// Flaws whose cures are ranked by what they save. The comment at a line names the cure that comes first, or one that must not be there.
#include <stdio.h>
#include <stdlib.h>
/* Records of one line each, which malloc lets begin 16 bytes into a line, met in no order. */
struct record { double key, x, y, z, u, v, w, last; };
enum { RECORDS = 1 << 14, STATE = 20000, SCRATCH = 200000, ROUNDS = 6 };
static double state[STATE], total[1], sums[STATE];
static unsigned char choice[STATE];
__attribute__((noinline)) static double scattered(struct record *records) {
    double sum = 0;
    unsigned at = 1;
    for (int i = 0; i < 4 * RECORDS; i++) {
        at = at * 1664525u + 1013904223u;
        struct record *r = &records[at >> 18];
        sum += r->key * r->x + r->y * r->z + r->u * r->v + r->w * r->last; // flaw: align
    }
    return sum;
}
__attribute__((noinline)) static void scratch(double *array) {
    for (int i = 0; i < SCRATCH; i++) array[i] = i;
}
__attribute__((noinline)) static double step(void) {
    for (int i = 0; i < STATE; i++)
        state[i] = state[i] * 0.5 + 1; // flaw: free earlier
    return state[7];
}
/* The second loop divides by what the first has added up. */
__attribute__((noinline)) static void normalise(volatile double *total) {
    for (int i = 0; i < STATE; i++) {
        sums[i] = i;
        *total += i;
    }
    for (int i = 0; i < STATE; i++)
        sums[i] = sums[i] / *total; // flaw: not fuse
}
__attribute__((noinline)) static double merged(void) {
    double sum = 0;
    for (int i = 0; i < STATE; i++) {
        if (choice[i])
            sum += sums[i];
        else
            sum -= sums[i];
    }
    return sum;
}
int main(int argc, char **argv) {
    struct record *records = malloc(RECORDS * sizeof *records);
    for (int i = 0; i < RECORDS; i++) records[i] = (struct record){ i, 1, 2, 3, 4, 5, 6, 7 };
    double sum = scattered(records);
    for (int round = 0; round < ROUNDS + argc - 1; round++) { // loop
        double *array = malloc(SCRATCH * sizeof *array);
        scratch(array);
        sum += step();
        free(array);
    }
    normalise(total);
    printf("%g\n", sum + sums[3] + merged());
}
