/* Dot product of 4-byte numbers, converted to 8 bytes one by one. */
#include "kernel.h"

static double mixed_dot_f32_f64(size_t n, const float *a, const float *b) {
    double s = 0;
    for (size_t i = 0; i < n; i++) {
        double ca = a[i], cb = b[i];
        double p = ca * cb;
        s = i == 0 ? p : s + p;
    }
    return s;
}

int main(int argc, char **argv) {
    size_t n = parameter(argc, argv, "n");
    float *a = room(n * sizeof *a), *b = room(n * sizeof *b);
    for (size_t i = 0; i < n; i++) {
        a[i] = 1 + (float)i / 16;
        b[i] = 2 - (float)i / 32;
    }
    dmdprof_input(a, n * sizeof *a);
    dmdprof_input(b, n * sizeof *b);
    dmdprof_begin("mixed_dot_f32_f64");
    double s = mixed_dot_f32_f64(n, a, b);
    dmdprof_output(&s, sizeof s);
    dmdprof_end("mixed_dot_f32_f64");
    show(argc, argv, &s, 1);
    return 0;
}
