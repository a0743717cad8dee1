/* Benchmark: quicksort of n records of 16 bytes, then a greedy LZ77 matcher with hash chains over m bytes of made-up text
 * (default 400000, 1500000). Compile with clang -O2 -fno-vectorize -fno-slp-vectorize. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW 32768
#define HEADS 65536
#define LONGEST 258

typedef struct {
    uint32_t key;
    uint16_t a;
    uint8_t b, c;
    double weight;
} record;

static uint32_t state = 12345;
static int heads[HEADS], previous[WINDOW];

static uint32_t random_number(void) {
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

__attribute__((noinline)) void sort(record *all, long low, long high) {
    while (low < high) {
        uint32_t pivot = all[(low + high) / 2].key;
        long i = low, j = high;
        while (i <= j) {
            while (all[i].key < pivot) i++;
            while (all[j].key > pivot) j--;
            if (i <= j) {
                record swapped = all[i];
                all[i++] = all[j], all[j--] = swapped;
            }
        }
        if (j - low < high - i)
            sort(all, low, j), low = i;
        else
            sort(all, i, high), high = j;
    }
}

static void write_text(unsigned char *text, long length) {
    static const char *words[] = {"the ",  "of ",   "data ", "line ", "cache ", "byte ", "and ", "deep ",
                                  "stack ", "move ", "a ",    "to ",   "near ",  "far ",  "is ",  "in "};
    for (long at = 0; at < length;) {
        const char *word = words[random_number() % 16];
        if (random_number() % 7 == 0)
            text[at++] = 'a' + random_number() % 26;
        else
            while (*word && at < length) text[at++] = *word++;
    }
}

static unsigned hash(const unsigned char *p) { return ((p[0] << 10) ^ (p[1] << 5) ^ p[2]) & (HEADS - 1); }

__attribute__((noinline)) long compress(const unsigned char *text, long length, unsigned char *out) {
    long written = 0;
    memset(heads, -1, sizeof heads);
    for (long at = 0; at + 3 < length;) {
        int best = 0, from = 0, chain = 24;
        for (int p = heads[hash(text + at)]; p >= 0 && at - p < WINDOW && chain--;) {
            int same = 0;
            while (same < LONGEST && at + same < length && text[p + same] == text[at + same]) same++;
            if (same > best) best = same, from = p;
            int next = previous[p % WINDOW];
            if (next >= p) break;
            p = next;
        }
        if (best >= 4) {
            out[written++] = 255, out[written++] = (unsigned char)best;
            out[written++] = (at - from) & 255, out[written++] = (at - from) >> 8;
        } else {
            out[written++] = text[at];
            best = 1;
        }
        for (; best > 0 && at + 3 < length; best--, at++) {
            unsigned slot = hash(text + at);
            previous[at % WINDOW] = heads[slot], heads[slot] = at;
        }
    }
    return written;
}

int main(int argc, char **argv) {
    long records = argc > 1 ? atol(argv[1]) : 400000, length = argc > 2 ? atol(argv[2]) : 1500000;
    record *all = malloc(records * sizeof *all);
    for (long i = 0; i < records; i++) all[i] = (record){random_number(), i, i >> 3, 1, i * 0.5};
    sort(all, 0, records - 1);
    double total = 0;
    for (long i = 0; i < records; i++) total += all[i].weight * (all[i].b + 1);
    unsigned char *text = malloc(length + LONGEST), *out = malloc(length * 2 + 64);
    write_text(text, length);
    long written = compress(text, length, out);
    unsigned sum = 0;
    for (long i = 0; i < written; i++) sum = sum * 31 + out[i];
    printf("compress %ld %ld: %g %ld %u\n", records, length, total, written, sum);
    return 0;
}
