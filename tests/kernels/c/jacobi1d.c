/* T sweeps of averaging three neighbours; the ends stay. */
#include "kernel.h"

static const real *jacobi1d(size_t n, size_t T, const real *u) {
    for (size_t sweep = 0; sweep < T; sweep++) {
        real *v = vector(n);
        for (size_t i = 1; i + 1 < n; i++)
            v[i] = (u[i - 1] + u[i] + u[i + 1]) * (1.0 / 3);
        v[0] = u[0];
        v[n - 1] = u[n - 1];
        u = v;
    }
    return u;
}

int main(int argc, char **argv) {
    size_t n = parameter(argc, argv, "n"), T = parameter(argc, argv, "T");
    real *u = input(n);
    dmdprof_begin("jacobi1d");
    const real *result = jacobi1d(n, T, u);
    output(result, n);
    dmdprof_end("jacobi1d");
    show(argc, argv, result, n);
    return 0;
}
