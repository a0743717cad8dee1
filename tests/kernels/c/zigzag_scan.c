/* Sum of R rounds over a, odd rounds descending. */
#include "kernel.h"

static real zigzag_scan(size_t n, size_t R, const real *a) {
    real s = a[0];
    for (size_t visit = 1; visit < n * R; visit++) {
        size_t i = visit % n;
        s += a[visit / n % 2 == 0 ? i : n - 1 - i];
    }
    return s;
}

int main(int argc, char **argv) {
    size_t n = parameter(argc, argv, "n"), R = parameter(argc, argv, "R");
    real *a = input(n);
    dmdprof_begin("zigzag_scan");
    real s = zigzag_scan(n, R, a);
    output(&s, 1);
    dmdprof_end("zigzag_scan");
    show(argc, argv, &s, 1);
    return 0;
}
