// variants: lists compressed
#include "pair.h"
enum { N = 60000, DEGREE = 10, ROUNDS = 3 };
// Sums over neighbours: edges in lists of nodes, or edges of a vertex side by side.
typedef struct Edge { struct Edge *next; uint32_t to; } Edge;
static Edge *first[N];
static uint32_t start[N + 1], target[N * DEGREE], value[N], next[N];
int main(void) {
    uint32_t *from = memory(sizeof(uint32_t) * N * DEGREE), *to = memory(sizeof(uint32_t) * N * DEGREE);
    for (int e = 0; e < N * DEGREE; e++) from[e] = random_number() % N, to[e] = random_number() % N;
    for (int v = 0; v < N; v++) value[v] = v;
#ifdef VARIANT_lists
    for (int e = 0; e < N * DEGREE; e++) {
        Edge *edge = memory(sizeof *edge);
        *edge = (Edge){first[from[e]], to[e]}, first[from[e]] = edge;
    }
#else
    for (int e = 0; e < N * DEGREE; e++) start[from[e] + 1]++;
    for (int v = 0; v < N; v++) start[v + 1] += start[v];
    for (int v = 0; v < N; v++) next[v] = start[v];
    for (int e = 0; e < N * DEGREE; e++) target[next[from[e]]++] = to[e];
#endif
    for (int r = 0; r < ROUNDS; r++) {
        for (int v = 0; v < N; v++) {
            uint32_t s = 0;
#ifdef VARIANT_lists
            for (Edge *e = first[v]; e; e = e->next) s += value[e->to];
#else
            for (uint32_t e = start[v]; e < start[v + 1]; e++) s += value[target[e]];
#endif
            next[v] = s;
        }
        memcpy(value, next, sizeof value);
    }
    uint32_t sum = 0;
    for (int v = 0; v < N; v++) sum += value[v];
    printf("%u\n", sum);
}
