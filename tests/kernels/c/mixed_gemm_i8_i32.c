/* C = A B of 1-byte integers, converted to 4 bytes at each use. */
#include "kernel.h"

static void mixed_gemm_i8_i32(size_t n, const int8_t *a, const int8_t *b, int32_t *c) {
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            int32_t s = 0;
            for (size_t k = 0; k < n; k++) {
                int32_t ca = a[i * n + k], cb = b[k * n + j];
                int32_t p = ca * cb;
                s = k == 0 ? p : s + p;
            }
            c[i * n + j] = s;
        }
}

static int8_t *bytes(size_t n) {
    int8_t *x = room(n);
    for (size_t i = 0; i < n; i++)
        x[i] = (int8_t)(1 + i % 7);
    dmdprof_input(x, n);
    return x;
}

int main(int argc, char **argv) {
    size_t n = parameter(argc, argv, "n");
    int8_t *a = bytes(n * n), *b = bytes(n * n);
    int32_t *c = room(n * n * sizeof *c);
    dmdprof_begin("mixed_gemm_i8_i32");
    mixed_gemm_i8_i32(n, a, b, c);
    dmdprof_output(c, n * n * sizeof *c);
    dmdprof_end("mixed_gemm_i8_i32");
    show_bytes(argc, argv, c, n * n * sizeof *c);
    return 0;
}
