/* Nothing dies: 256 KiB are written once and read three times. */
#include <stdio.h>
static double data[32768];

static __attribute__((noinline)) double scan(void) {
    double sum = 0;
    for (int i = 0; i < 32768; i++) sum += data[i];
    return sum;
}

int main(void) {
    for (int i = 0; i < 32768; i++) data[i] = i;
    printf("%g\n", scan() + scan() + scan());
    return 0;
}
