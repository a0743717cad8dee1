// 40 MiB are written, and then read: stores fetch each line only to overwrite it.
#include <stdio.h>
enum { LARGE = 5 << 20 };
static double a[LARGE];
__attribute__((noinline)) static void fill(void) {
    for (int i = 0; i < LARGE; i++)
        a[i] = i;
}
__attribute__((noinline)) static double add(void) {
    double sum = 0;
    for (int i = 0; i < LARGE; i++)
        sum += a[i]; // flaw: stream stores
    return sum;
}
int main(void) {
    fill();
    printf("%g\n", add());
}
