/* Dot product of 1-byte integers, converted to 4 bytes one by one. */
#include "kernel.h"

static int32_t mixed_dot_i8_i32(size_t n, const int8_t *a, const int8_t *b) {
    int32_t s = 0;
    for (size_t i = 0; i < n; i++) {
        int32_t ca = a[i], cb = b[i];
        int32_t p = ca * cb;
        s = i == 0 ? p : s + p;
    }
    return s;
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
    int8_t *a = bytes(n), *b = bytes(n);
    dmdprof_begin("mixed_dot_i8_i32");
    int32_t s = mixed_dot_i8_i32(n, a, b);
    dmdprof_output(&s, sizeof s);
    dmdprof_end("mixed_dot_i8_i32");
    show_bytes(argc, argv, &s, sizeof s);
    return 0;
}
