// variants: array_of_structures structure_of_arrays
#include "pair.h"
enum { N = 400000, TIMES = 6 };
// One field of eight is read.
#ifdef VARIANT_array_of_structures
static struct { double x, y, z, vx, vy, vz, mass, charge; } p[N];
#define X(i) p[i].x
#else
static struct { double x[N], y[N], z[N], vx[N], vy[N], vz[N], mass[N], charge[N]; } p;
#define X(i) p.x[i]
#endif
int main(void) {
    for (int i = 0; i < N; i++) X(i) = i % 16;
    double sum = 0;
    for (int t = 0; t < TIMES; t++)
        for (int i = 0; i < N; i++) sum += X(i);
    printf("%.0f\n", sum);
}
