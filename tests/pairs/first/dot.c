// variants: one four
#include "../pair.h"
enum { N = 2048, TIMES = 19500 };
// A scalar product in L1: one sum waits for each addition, four sums overlap. All numbers are whole, so all are exact.
static double a[N], b[N];
int main(void) {
    for (int i = 0; i < N; i++) a[i] = random_number() % 64, b[i] = random_number() % 64;
    double total = 0;
    for (int t = 0; t < TIMES; t++) {
        a[t % N] += 1;
#ifdef VARIANT_one
        double s = 0;
        for (int i = 0; i < N; i++) s += a[i] * b[i];
        total += s;
#else
        double s[4] = {0};
        for (int i = 0; i < N; i += 4)
            for (int k = 0; k < 4; k++) s[k] += a[i + k] * b[i + k];
        total += s[0] + s[1] + s[2] + s[3];
#endif
    }
    printf("%.0f\n", total);
}
