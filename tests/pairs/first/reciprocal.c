// variants: divided multiplied
#include "../pair.h"
enum { N = 1024, TIMES = 64000 };
// A vector is scaled by 1/8: by a division of each number, or by a product with the reciprocal, which is exact here.
static double v[N], out[N];
static volatile double unknown = 8;
int main(void) {
    for (int i = 0; i < N; i++) v[i] = random_number() % 4096;
    double divisor = unknown, reciprocal = 1 / divisor, sum = 0;
    for (int t = 0; t < TIMES; t++) {
        for (int i = 0; i < N; i++) {
#ifdef VARIANT_divided
            out[i] = (v[i] + t) / divisor;
#else
            out[i] = (v[i] + t) * reciprocal;
#endif
        }
        sum += out[t % N];
    }
    printf("%.3f %.3f\n", sum, reciprocal);
}
