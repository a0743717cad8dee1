// variants: roots squares
#include "../pair.h"
#include <cmath>
#include <vector>
enum { N = 4096, TIMES = 3800 };
// Points within a radius: by their distance, a square root each, or by its square. All numbers are whole.
struct Point { double x, y; };
int main() {
    std::vector<Point> points(N);
    for (auto &p : points) p = {double(random_number() % 1000), double(random_number() % 1000)};
    uint64_t inside = 0;
    for (int t = 0; t < TIMES; t++)
        for (auto &p : points) {
            double square = p.x * p.x + p.y * p.y, radius = t + 1;
#ifdef VARIANT_roots
            inside += std::sqrt(square) <= radius;
#else
            inside += square <= radius * radius;
#endif
        }
    printf("%llu\n", (unsigned long long)inside);
}
