// variants: alias apart
#include "../pair.h"
enum { N = 2000, TIMES = 12000 };
// Loads follow stores whose address has the same low 12 bits, which some cores take for the same place; or other bits.
static _Alignas(4096) uint32_t room[3][4096];
#ifdef VARIANT_alias
enum { SHIFT = 1024 + 1 };
#else
enum { SHIFT = 1024 + 512 };
#endif
int main(void) {
    uint32_t *from = room[0], *to = room[0] + SHIFT + 2048;
    for (int i = 0; i < N; i++) from[i] = random_number();
    uint32_t sum = 0;
    for (int t = 0; t < TIMES; t++) {
        for (int i = 0; i < N; i++) {
            to[i] = from[i] * 3 + t;
            __asm__ volatile("" ::: "memory");
        }
        sum += to[t % N];
    }
    printf("%u\n", sum);
}
