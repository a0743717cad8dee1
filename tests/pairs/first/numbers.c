// variants: strtol by_hand
#include "../pair.h"
enum { NUMBERS = 50000, TIMES = 18 };
// A text of numbers is parsed: by strtol, which knows signs, bases and overflow, or by a loop of digits only.
static char text[NUMBERS * 8];
int main(void) {
    char *end = text;
    for (int i = 0; i < NUMBERS; i++) {
        char digits[8];
        int n = 0;
        for (uint32_t x = random_number() % 900000 + 7; x; x /= 10) digits[n++] = '0' + x % 10;
        while (n) *end++ = digits[--n];
        *end++ = ' ';
    }
    uint64_t sum = 0;
    for (int t = 0; t < TIMES; t++)
        for (char *at = text; at < end; at++) {
#ifdef VARIANT_strtol
            long x = strtol(at, &at, 10);
#else
            long x = 0;
            for (; *at >= '0' && *at <= '9'; at++) x = x * 10 + (*at - '0');
#endif
            sum += x ^ t;
        }
    printf("%llu\n", (unsigned long long)sum);
}
