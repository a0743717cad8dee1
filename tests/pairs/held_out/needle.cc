// variants: naive find
#include "../pair.h"
#include <string>
enum { BYTES = 1 << 18, TIMES = 43 };
// A word is searched in a text with one first letter of it in 60: letter by letter, or by std::string::find (memchr).
int main() {
    std::string text, word = "zebra";
    for (int i = 0; i < BYTES; i++) {
        uint32_t r = random_number() >> 8;
        text += r % 60 ? char('a' + r % 25) : 'z';
    }
    for (int i = 0; i < 20; i++) text.replace(random_number() % (BYTES - 5), 5, word);
    uint64_t sum = 0;
    for (int t = 0; t < TIMES; t++) {
#ifdef VARIANT_naive
        for (size_t at = t; at + word.size() <= text.size(); at++) {
            size_t same = 0;
            while (same < word.size() && text[at + same] == word[same]) same++;
            if (same == word.size()) sum += at;
        }
#else
        for (size_t at = t; (at = text.find(word, at)) != std::string::npos; at++) sum += at;
#endif
    }
    printf("%llu\n", (unsigned long long)sum);
}
