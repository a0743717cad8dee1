// variants: ijk ikj fused
#include "poly.h"
// D = alpha A B C + beta D, by way of E = alpha A B.
enum { NI = SIZE(250, 33), NJ = SIZE(270, 35), NK = SIZE(290, 41), NL = SIZE(310, 37) };
static double a[NI][NK], b[NK][NJ], c[NJ][NL], d[NI][NL], e[NI][NJ];
static void row_of_e(int i) {
    const double alpha = 3;
    for (int k = 0; k < NK; k++)
        for (int j = 0; j < NJ; j++) e[i][j] += alpha * a[i][k] * b[k][j];
}
static void row_of_d(int i) {
    const double beta = 2;
    for (int l = 0; l < NL; l++) d[i][l] *= beta;
    for (int j = 0; j < NJ; j++)
        for (int l = 0; l < NL; l++) d[i][l] += e[i][j] * c[j][l];
}
static void element_of_e(int i, int j) {
    const double alpha = 3;
    double s = 0;
    for (int k = 0; k < NK; k++) s += alpha * a[i][k] * b[k][j];
    e[i][j] = s;
}
static void element_of_d(int i, int l) {
    const double beta = 2;
    double s = beta * d[i][l];
    for (int j = 0; j < NJ; j++) s += e[i][j] * c[j][l];
    d[i][l] = s;
}
int main(void) {
    FILL(a, 1), FILL(b, 2), FILL(c, 3), FILL(d, 4);
#if defined VARIANT_ijk
    for (int i = 0; i < NI; i++)
        for (int j = 0; j < NJ; j++) element_of_e(i, j);
    for (int i = 0; i < NI; i++)
        for (int l = 0; l < NL; l++) element_of_d(i, l);
#elif defined VARIANT_ikj
    for (int i = 0; i < NI; i++) row_of_e(i);
    for (int i = 0; i < NI; i++) row_of_d(i);
#else
    for (int i = 0; i < NI; i++) row_of_e(i), row_of_d(i);
#endif
    RESULT(d);
    return print_results();
}
