/* A kernel whose input is declared, for the model of values. */
#include "dmdprof.h"

static int a[6][6], b[6][6], c[6][6];

int main(void) {
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++) {
            a[i][j] = i + j;
            b[i][j] = i - j;
        }
    dmdprof_begin("product");
    dmdprof_input(a, sizeof a);
    dmdprof_input(b, sizeof b);
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++) {
            int sum = 0;
            for (int k = 0; k < 6; k++)
                sum += a[i][k] * b[k][j];
            c[i][j] = sum;
        }
    dmdprof_output(c, sizeof c);
    dmdprof_end("product");
}
