// Parses a file twenty times and adds up a field.
#include <cstdio>
#include "simdjson.h"

int main(int argc, char** argv) {
    simdjson::dom::parser parser;
    unsigned long sum = 0;
    for (int i = 0; i < 20; i++) {
        simdjson::dom::element document = parser.load(argv[1]);
        for (simdjson::dom::element tweet : document["statuses"]) sum += uint64_t(tweet["retweet_count"]);
    }
    std::printf("%lu\n", sum);
}
