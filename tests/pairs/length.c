// variants: each_time once
#include "pair.h"
enum { N = 6000 };
// The length of a text in the condition of a loop, or before it.
static size_t length(const volatile char *s) {
    size_t n = 0;
    while (s[n]) n++;
    return n;
}
static char text[N + 1];
int main(void) {
    memset(text, 'a', N);
    long sum = 0;
#ifdef VARIANT_each_time
    for (size_t i = 0; i < length(text); i++) sum += text[i];
#else
    for (size_t i = 0, n = length(text); i < n; i++) sum += text[i];
#endif
    for (int t = 0; t < 100; t++) sum += length(text);
    printf("%ld\n", sum);
}
