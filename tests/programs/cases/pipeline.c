/* Four stages that pass arrays of 20000 doubles on: produce writes a; three times scale reads a and writes b, then total and norm
 * read b. */
#include <stdio.h>

enum { N = 20000 };
static double a[N], b[N];

__attribute__((noinline)) static void produce(void) {
    for (int i = 0; i < N; i++)
        a[i] = i * 0.5;
}

__attribute__((noinline)) static void scale(void) {
    for (int i = 0; i < N; i++)
        b[i] = a[i] * 2.0 + 1.0;
}

__attribute__((noinline)) static double total(void) {
    double sum = 0;
    for (int i = 0; i < N; i++)
        sum += b[i];
    return sum;
}

__attribute__((noinline)) static double norm(void) {
    double sum = 0;
    for (int i = 0; i < N; i++)
        sum += b[i] * b[i];
    return sum;
}

int main(void) {
    double sum = 0;
    produce();
    for (int i = 0; i < 3; i++) {
        scale();
        sum += total() + norm();
    }
    printf("%.0f\n", sum);
    return 0;
}
