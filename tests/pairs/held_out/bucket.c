// variants: linear binary counted
#include "../pair.h"
enum { N = 1 << 18, BOUNDS = 15, TIMES = 12 };
// Which of 16 ranges a number is in: a loop that stops, a binary search by branches, or a count of all bounds below it.
static uint32_t numbers[N], bounds[BOUNDS], counts[BOUNDS + 1];
static uint32_t range_of(uint32_t x) {
    uint32_t at = 0;
#if defined VARIANT_linear
    while (at < BOUNDS && bounds[at] <= x) at++;
#elif defined VARIANT_binary
    uint32_t end = BOUNDS;
    while (at < end) {
        uint32_t middle = (at + end) / 2;
        if (bounds[middle] <= x) at = middle + 1;
        else end = middle;
    }
#else
    for (int i = 0; i < BOUNDS; i++) at += bounds[i] <= x;
#endif
    return at;
}
int main(void) {
    for (uint32_t i = 0; i < BOUNDS; i++) bounds[i] = (i + 1) << 12;
    for (int i = 0; i < N; i++) numbers[i] = random_number() >> 16;
    for (int t = 0; t < TIMES; t++)
        for (int i = 0; i < N; i++) counts[range_of(numbers[i] ^ t)] += t;
    for (int i = 0; i <= BOUNDS; i++) printf("%u ", counts[i]);
    puts("");
}
