// Compresses and expands a file.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include "snappy.h"

int main(int argc, char** argv) {
    std::ifstream file(argv[1]);
    std::string in((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>()), packed, out;
    for (int i = 0; i < 20; i++) snappy::Compress(in.data(), in.size(), &packed);
    snappy::Uncompress(packed.data(), packed.size(), &out);
    std::printf("%zu of %zu bytes, %s\n", packed.size(), in.size(), in == out ? "the same" : "another");
}
