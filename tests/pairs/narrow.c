// variants: wide narrow
#include "pair.h"
enum { N = 3000000, TIMES = 5 };
#ifdef VARIANT_wide
typedef uint64_t Flag;
#else
typedef uint8_t Flag;
#endif
static Flag flags[N];
int main(void) {
    for (int i = 0; i < N; i++) flags[i] = i % 3 == 0;
    uint32_t count = 0;
    for (int t = 0; t < TIMES; t++)
        for (int i = 0; i < N; i++) count += flags[i] != 0;
    printf("%u\n", count);
}
