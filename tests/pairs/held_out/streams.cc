// variants: stream strtoul
#include "../pair.h"
#include <sstream>
#include <string>
enum { NUMBERS = 160000 };
// Numbers in text: by a string stream with its locale, sentry and virtual calls for each, or by strtoul.
int main() {
    std::string text;
    for (int i = 0; i < NUMBERS; i++) text += std::to_string(random_number() >> 4) + " ";
    uint64_t sum = 0;
#ifdef VARIANT_stream
    std::istringstream in(text);
    for (uint32_t x; in >> x;) sum = sum * 3 + x;
#else
    for (char *at = &text[0], *end; *at && *(at + 1); at = end) {
        uint32_t x = uint32_t(strtoul(at, &end, 10));
        sum = sum * 3 + x;
    }
#endif
    printf("%llu\n", (unsigned long long)sum);
}
