// variants: together apart
#include "../pair.h"
enum { N = 1 << 18, LOOKUPS = 3000000 };
// Random tests of a small field: beside 60 cold bytes it spans 16 MiB, in an array of its own 1 MiB.
#ifdef VARIANT_together
static struct { uint32_t hot; char cold[60]; } all[N];
#define HOT(i) all[i].hot
#else
static uint32_t hot[N];
static struct { char cold[60]; } all[N];
#define HOT(i) hot[i]
#endif
int main(void) {
    for (int i = 0; i < N; i++) HOT(i) = i * 2654435761u, all[i].cold[7] = i;
    uint64_t sum = 0;
    for (int i = 0; i < LOOKUPS; i++) sum += HOT(random_number() % N) >> 3;
    printf("%llu %d\n", (unsigned long long)sum, all[N / 3].cold[7]);
}
