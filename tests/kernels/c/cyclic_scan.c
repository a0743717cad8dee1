/* Sum of R rounds over a, always ascending: the worst case of LRU. */
#include "kernel.h"

static real cyclic_scan(size_t n, size_t R, const real *a) {
    real s = a[0];
    for (size_t visit = 1; visit < n * R; visit++)
        s += a[visit % n];
    return s;
}

int main(int argc, char **argv) {
    size_t n = parameter(argc, argv, "n"), R = parameter(argc, argv, "R");
    real *a = input(n);
    dmdprof_begin("cyclic_scan");
    real s = cyclic_scan(n, R, a);
    output(&s, 1);
    dmdprof_end("cyclic_scan");
    show(argc, argv, &s, 1);
    return 0;
}
