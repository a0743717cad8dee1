// variants: far near
#include "pair.h"
enum { N = 1 << 22, STEP = 64, TIMES = 2 };
int main(void) {
    float *a = memory(sizeof(float) * N);
    for (int t = 0; t < TIMES; t++)
#ifdef VARIANT_far
        for (int s = 0; s < STEP; s++)
            for (int i = s; i < N; i += STEP) a[i] += 1;
#else
        for (int i = 0; i < N; i += STEP)
            for (int s = 0; s < STEP; s++) a[i + s] += 1;
#endif
    double sum = 0;
    for (int i = 0; i < N; i++) sum += a[i];
    printf("%.0f\n", sum);
}
