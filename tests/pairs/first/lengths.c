// variants: by_hand libc
#include "../pair.h"
enum { BYTES = 1 << 18, TIMES = 240 };
// Lengths of texts of some 10 to 60 letters: byte by byte, or by strlen, which looks at many bytes at once.
static char text[BYTES];
int main(void) {
    for (int i = 0; i < BYTES - 1;) {
        int n = 10 + random_number() % 50;
        for (; n-- && i < BYTES - 1; i++) text[i] = 'a' + n % 26;
        i++;
    }
    uint64_t sum = 0;
    for (int t = 0; t < TIMES; t++)
        for (char *at = text; at < text + BYTES - 1;) {
#ifdef VARIANT_by_hand
            size_t n = 0;
            while (at[n]) n++;
#else
            size_t n = strlen(at);
#endif
            sum += n ^ t;
            at += n + 1;
        }
    printf("%llu\n", (unsigned long long)sum);
}
