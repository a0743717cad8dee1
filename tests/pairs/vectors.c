// variants: unfused fused
#include "pair.h"
enum { N = 1500000, TIMES = 2 };
static double a[N], b[N], c[N], d[N];
int main(void) {
    for (int i = 0; i < N; i++) a[i] = i % 7, b[i] = i % 5;
    double sum = 0;
    for (int t = 0; t < TIMES; t++) {
#ifdef VARIANT_unfused
        for (int i = 0; i < N; i++) c[i] = a[i] + b[i];
        for (int i = 0; i < N; i++) d[i] = c[i] * a[i];
        for (int i = 0; i < N; i++) c[i] = d[i] - b[i];
        for (int i = 0; i < N; i++) d[i] = c[i] + t;
#else
        for (int i = 0; i < N; i++) d[i] = (a[i] + b[i]) * a[i] - b[i] + t;
#endif
        sum += d[t * 1000];
    }
    printf("%.0f\n", sum);
}
