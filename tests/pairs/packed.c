// variants: padded packed
#include "pair.h"
enum { N = 300000, TIMES = 10 };
#ifdef VARIANT_padded
typedef struct { uint32_t key, value; char name[120]; } Entry;
#else
typedef struct { uint32_t key, value; } Entry;
#endif
static Entry table[N];
int main(void) {
    for (int i = 0; i < N; i++) table[i].key = i * 7, table[i].value = i;
    uint64_t sum = 0;
    for (int t = 0; t < TIMES; t++)
        for (int i = 0; i < N; i++)
            if (table[i].key & 1) sum += table[i].value;
    printf("%llu\n", (unsigned long long)sum);
}
