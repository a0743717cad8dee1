// variants: random sorted
#include "../pair.h"
enum { N = 1 << 18, TIMES = 76 };
// Large bytes are counted behind a branch: in random order the branch is a coin's toss, in sorted order it is known.
static uint8_t bytes[N];
static uint32_t counts[8];
int main(void) {
#ifdef VARIANT_random
    for (int i = 0; i < N; i++) bytes[i] = random_number() >> 9;
#else
    uint32_t of[256] = {0};
    for (int i = 0; i < N; i++) of[(random_number() >> 9) & 255]++;
    for (int i = 0, b = 0; b < 256; b++)
        for (uint32_t k = 0; k < of[b]; k++) bytes[i++] = b;
#endif
    for (int t = 0; t < TIMES; t++)
        for (int i = 0; i < N; i++)
            if (bytes[i] >= 128) counts[(bytes[i] + t) & 7]++;
    for (int i = 0; i < 8; i++) printf("%u ", counts[i]);
    puts("");
}
