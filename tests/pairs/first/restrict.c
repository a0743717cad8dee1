// variants: may_alias restricted
#include "../pair.h"
enum { N = 2048, TIMES = 8000 };
// Three outputs of four inputs: pointers that may alias keep the order of loads and stores, `restrict` lets them pack.
#ifdef VARIANT_restricted
typedef int32_t *restrict Numbers;
#else
typedef int32_t *Numbers;
#endif
__attribute__((noinline)) void mix(Numbers p, Numbers q, Numbers r, Numbers a, Numbers b, Numbers c, Numbers d) {
    for (int i = 0; i < N; i++) {
        p[i] = a[i] + b[i];
        q[i] = b[i] ^ c[i];
        r[i] = c[i] - d[i];
    }
}
static int32_t out[3][N], in[4][N];
int main(void) {
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < N; i++) in[k][i] = random_number();
    uint32_t sum = 0;
    for (int t = 0; t < TIMES; t++) {
        in[t % 4][t % N] += t;
        mix(out[0], out[1], out[2], in[0], in[1], in[2], in[3]);
        sum += out[t % 3][t * 7 % N];
    }
    printf("%u\n", sum);
}
