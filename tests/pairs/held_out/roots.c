// variants: plain halving
#include "../pair.h"
enum { N = 1 << 16, CHAIN = 24, QUESTIONS = 1000000 };
// Sets as chains of parents: each question walks up a chain of up to 24, or also halves the chain for those to come.
static uint32_t parent[N];
static uint32_t root_of(uint32_t x) {
    while (parent[x] != x) {
#ifdef VARIANT_halving
        parent[x] = parent[parent[x]];
#endif
        x = parent[x];
    }
    return x;
}
int main(void) {
    uint32_t *order = shuffled(N);
    for (uint32_t i = 0; i < N; i++) parent[order[i]] = order[i % CHAIN ? i - 1 : i];
    uint64_t sum = 0;
    for (int i = 0; i < QUESTIONS; i++) sum += root_of(random_number() % N);
    printf("%llu\n", (unsigned long long)sum);
}
