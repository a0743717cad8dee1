// variants: by_hand memchr
#include "../pair.h"
enum { BYTES = 1 << 18, TIMES = 165 };
// Ends of lines of 10 to 50 bytes: byte by byte, or by memchr, which compares many bytes at once.
static char text[BYTES];
int main(void) {
    for (int i = 0; i < BYTES; i++) text[i] = 'a' + i % 26;
    for (int i = 0; i < BYTES; i += 10 + random_number() % 40) text[i] = '\n';
    text[BYTES - 1] = '\n';
    uint64_t sum = 0;
    for (int t = 0; t < TIMES; t++)
        for (char *at = text, *end = text + BYTES; at < end; at++) {
            char *start = at;
#ifdef VARIANT_by_hand
            while (*at != '\n') at++;
#else
            at = memchr(at, '\n', end - at);
#endif
            sum += (at - start) * (at[-(at > start)] + t);
        }
    printf("%llu\n", (unsigned long long)sum);
}
