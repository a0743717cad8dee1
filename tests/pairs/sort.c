// variants: heap merge quick radix
#include "pair.h"
enum { N = 200000 };
static uint32_t a[N], b[N];
#if defined VARIANT_heap
static void sift(uint32_t at, uint32_t n) {
    uint32_t x = a[at];
    for (uint32_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && a[child + 1] > a[child]) child++;
        if (a[child] <= x) break;
        a[at] = a[child];
    }
    a[at] = x;
}
static void sort(void) {
    for (uint32_t i = N / 2; i-- > 0;) sift(i, N);
    for (uint32_t n = N; --n > 0;) {
        uint32_t top = a[0];
        a[0] = a[n], a[n] = top, sift(0, n);
    }
}
#elif defined VARIANT_merge
static void sort(void) {
    for (uint32_t width = 1; width < N; width *= 2) {
        for (uint32_t from = 0; from < N; from += 2 * width) {
            uint32_t middle = from + width < N ? from + width : N, to = from + 2 * width < N ? from + 2 * width : N;
            for (uint32_t i = from, j = middle, k = from; k < to; k++)
                b[k] = i < middle && (j >= to || a[i] <= a[j]) ? a[i++] : a[j++];
        }
        memcpy(a, b, sizeof a);
    }
}
#elif defined VARIANT_quick
static void quick(uint32_t *x, int n) {
    while (n > 16) {
        uint32_t pivot = x[n / 2];
        int i = -1, j = n;
        for (;;) {
            do i++; while (x[i] < pivot);
            do j--; while (x[j] > pivot);
            if (i >= j) break;
            uint32_t t = x[i];
            x[i] = x[j], x[j] = t;
        }
        quick(x, j + 1), x += j + 1, n -= j + 1;
    }
    for (int i = 1; i < n; i++) {
        uint32_t y = x[i];
        int j = i;
        for (; j > 0 && x[j - 1] > y; j--) x[j] = x[j - 1];
        x[j] = y;
    }
}
static void sort(void) { quick(a, N); }
#else
static void sort(void) {
    for (int shift = 0; shift < 32; shift += 8) {
        uint32_t start[257] = {0};
        for (uint32_t i = 0; i < N; i++) start[(a[i] >> shift & 255) + 1]++;
        for (int d = 0; d < 256; d++) start[d + 1] += start[d];
        for (uint32_t i = 0; i < N; i++) b[start[a[i] >> shift & 255]++] = a[i];
        memcpy(a, b, sizeof a);
    }
}
#endif
int main(void) {
    for (uint32_t i = 0; i < N; i++) a[i] = random_number();
    sort();
    uint64_t sum = 0;
    for (uint32_t i = 0; i < N; i++) sum += (uint64_t)a[i] * i;
    printf("%llu\n", (unsigned long long)sum);
}
