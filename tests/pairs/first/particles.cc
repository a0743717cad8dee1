// variants: structures arrays
#include "../pair.h"
#include <vector>
enum { N = 1 << 20, TIMES = 14 };
// One of eight fields moves: in structures of 32 bytes all lines pass, in an array of its own one in eight.
struct Particle { int32_t x, y, z, vx, vy, vz, mass, kind; };
int main() {
    int64_t sum = 0;
#ifdef VARIANT_structures
    std::vector<Particle> all(N);
#define X(i) all[i].x
#define VX(i) all[i].vx
#else
    std::vector<int32_t> xs(N), ys(N), zs(N), vxs(N), vys(N), vzs(N), masses(N), kinds(N);
#define X(i) xs[i]
#define VX(i) vxs[i]
#endif
    for (int i = 0; i < N; i++) VX(i) = int32_t(random_number() % 100) - 50;
    for (int t = 0; t < TIMES; t++)
        for (int i = 0; i < N; i++) X(i) += VX(i) * t;
    for (int i = 0; i < N; i++) sum += X(i);
    printf("%lld\n", (long long)sum);
}
