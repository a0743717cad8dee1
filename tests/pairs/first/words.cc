// variants: copies places
#include "../pair.h"
#include <string>
#include <utility>
#include <vector>
enum { WORDS = 40000, TIMES = 8 };
// A text is split into words of 16 to 40 letters: each copied into memory of its own, or noted as place and length.
#ifdef VARIANT_copies
typedef std::string Word;
#define WORD(from, to) text.substr(from, (to) - (from))
#define SIZE(w) (w).size()
#define FIRST(w) (w)[0]
#else
typedef std::pair<size_t, size_t> Word;
#define WORD(from, to) Word(from, (to) - (from))
#define SIZE(w) (w).second
#define FIRST(w) text[(w).first]
#endif
int main() {
    std::string text;
    for (int i = 0; i < WORDS; i++) text.append(16 + random_number() % 25, char('a' + i % 26)) += ' ';
    uint64_t sum = 0;
    for (int t = 0; t < TIMES; t++) {
        std::vector<Word> words;
        for (size_t from = 0; from < text.size();) {
            size_t to = text.find(' ', from);
            words.push_back(WORD(from, to));
            from = to + 1;
        }
        for (auto &word : words) sum += SIZE(word) * FIRST(word) + t;
    }
    printf("%llu\n", (unsigned long long)sum);
}
