// Formats numbers of many kinds.
#include <cstdio>
#include <string>
#include "fmt/format.h"

int main() {
    std::string text;
    double x = 1.0;
    for (int i = 0; i < 3000; i++) {
        x = x * 1.37 + i;
        if (x > 1e200) x = 1e-100;
        fmt::format_to(std::back_inserter(text), "{:>8} {:x} {} {:.3f} {:e}\n", i, i * 7919, x, x / (i + 1.0), x);
    }
    unsigned long sum = 0;
    for (unsigned char c : text) sum = sum * 31 + c;
    std::printf("%zu bytes, %lu\n", text.size(), sum);
}
