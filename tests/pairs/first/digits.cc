// variants: single pairs
#include "../pair.h"
#include <string>
enum { NUMBERS = 1100000 };
// Numbers are written in decimal: one digit for each division by 10, or two for each by 100 and a table.
int main() {
    std::string table;
    for (int i = 0; i < 100; i++) table += char('0' + i / 10), table += char('0' + i % 10);
    char text[16];
    uint64_t sum = 0;
    for (int n = 0; n < NUMBERS; n++) {
        uint32_t x = random_number() | 0x40000000u;
        char *at = text + 16;
#ifdef VARIANT_single
        for (; x; x /= 10) *--at = char('0' + x % 10);
#else
        for (; x >= 100; x /= 100) at -= 2, memcpy(at, &table[x % 100 * 2], 2);
        if (x >= 10) at -= 2, memcpy(at, &table[x * 2], 2);
        else *--at = char('0' + x);
#endif
        for (char *c = at; c < text + 16; c += 3) sum = sum * 5 + uint8_t(*c);
    }
    printf("%llu\n", (unsigned long long)sum);
}
