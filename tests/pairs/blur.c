// variants: down_columns along_rows
#include "pair.h"
enum { H = 1500, W = 2000, R = 4 };
// The vertical pass of a blur.
int main(void) {
    uint16_t *in = memory(sizeof(uint16_t) * H * W), *out = memory(sizeof(uint16_t) * H * W);
    for (int i = 0; i < H * W; i++) in[i] = i % 251;
#ifdef VARIANT_down_columns
    for (int x = 0; x < W; x++)
        for (int y = R; y < H - R; y++) {
            uint32_t s = 0;
            for (int k = -R; k <= R; k++) s += in[(y + k) * W + x];
            out[y * W + x] = s;
        }
#else
    for (int y = R; y < H - R; y++)
        for (int x = 0; x < W; x++) {
            uint32_t s = 0;
            for (int k = -R; k <= R; k++) s += in[(y + k) * W + x];
            out[y * W + x] = s;
        }
#endif
    uint64_t sum = 0;
    for (int i = 0; i < H * W; i++) sum += out[i];
    printf("%llu\n", (unsigned long long)sum);
}
