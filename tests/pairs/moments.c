// variants: passes one_pass
#include "pair.h"
enum { N = 4000000, TIMES = 3 };
static int a[N];
int main(void) {
    for (int i = 0; i < N; i++) a[i] = i % 1000;
    long sum = 0, squares = 0, least = 1 << 30, most = 0;
    for (int t = 0; t < TIMES; t++) {
#ifdef VARIANT_passes
        for (int i = 0; i < N; i++) sum += a[i];
        for (int i = 0; i < N; i++) squares += (long)a[i] * a[i];
        for (int i = 0; i < N; i++) least = a[i] < least ? a[i] : least;
        for (int i = 0; i < N; i++) most = a[i] > most ? a[i] : most;
#else
        int low = least, high = most;
        for (int i = 0; i < N; i++) {
            sum += a[i], squares += (long)a[i] * a[i];
            low = a[i] < low ? a[i] : low, high = a[i] > high ? a[i] : high;
        }
        least = low, most = high;
#endif
    }
    printf("%ld %ld %ld %ld\n", sum, squares, least, most);
}
