// Matches patterns against the lines of a file.
#include <cstdio>
#include <fstream>
#include <string>
#include "re2/re2.h"

int main(int argc, char** argv) {
    std::ifstream in(argv[1]);
    RE2 name("([a-z]+)_([a-z]+)\\("), number("\\b[0-9a-fA-F]{2,}\\b"), word("(?i)regexp|unicode|(re|un)\\w+e");
    int names = 0, numbers = 0, words = 0;
    std::string line, a, b;
    while (std::getline(in, line)) {
        names += RE2::PartialMatch(line, name, &a, &b);
        numbers += RE2::PartialMatch(line, number);
        words += RE2::PartialMatch(line, word);
    }
    std::printf("%d names, the last %s %s, %d numbers, %d words\n", names, a.c_str(), b.c_str(), numbers, words);
}
