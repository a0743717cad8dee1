/* One token through a transformer layer of embedding size E, all weights 1. */
#include "kernel.h"

#define TOKENS 4
#define POSITIONS 4

/* Embedding of token 0 at position 0. */
static void embed(size_t E, const real *wte, const real *wpe, real *x) {
    for (size_t i = 0; i < E; i++)
        x[i] = wte[i] + wpe[i];
}

static void rmsnorm(size_t E, const real *x, real *y) {
    real s = 0;
    for (size_t i = 0; i < E; i++)
        s += x[i] * x[i];
    real ms = s * (1.0 / (real)E);
    real scale = pow(ms, -0.5);
    for (size_t i = 0; i < E; i++)
        y[i] = x[i] * scale;
}

/* y = w x for a matrix of `rows` x `columns`, each sum started at 0. */
static void linear(size_t rows, size_t columns, const real *x, const real *w, real *y) {
    for (size_t r = 0; r < rows; r++) {
        real s = 0;
        for (size_t c = 0; c < columns; c++)
            s += w[r * columns + c] * x[c];
        y[r] = s;
    }
}

/* The score of the only position, which nobody uses: its weight is 1 whatever it is. */
static void scores(size_t size, const real *q, const real *k) {
    real s = 0;
    for (size_t j = 0; j < size; j++)
        s += q[j] * k[j];
    real unused = s / sqrt((double)size);
    (void)unused;
}

static void residual(size_t E, real *x, const real *before) {
    for (size_t i = 0; i < E; i++)
        x[i] = x[i] + before[i];
}

static void relu(size_t n, real *x) {
    for (size_t i = 0; i < n; i++)
        x[i] = x[i] * (x[i] > 0);
}

static void microgpt(size_t E, size_t heads, real *const weights[9], real *logits) {
    const real *wte = weights[0], *wpe = weights[1], *lm_head = weights[2];
    const real *wq = weights[3], *wk = weights[4], *wv = weights[5], *wo = weights[6];
    const real *fc1 = weights[7], *fc2 = weights[8];
    real *embedded = vector(E), *before = vector(E), *x = vector(E), *hidden = vector(4 * E);
    real *q = vector(E), *k = vector(E), *v = vector(E), *attended = vector(E);
    size_t size = E / heads;

    embed(E, wte, wpe, embedded);
    rmsnorm(E, embedded, before);
    rmsnorm(E, before, x);
    linear(E, E, x, wq, q);
    linear(E, E, x, wk, k);
    linear(E, E, x, wv, v);
    for (size_t h = 0; h < heads; h++) {
        scores(size, q + h * size, k + h * size);
        memcpy(attended + h * size, v + h * size, size * sizeof *v);
    }
    linear(E, E, attended, wo, x);
    residual(E, x, before);
    memcpy(before, x, E * sizeof *x);
    rmsnorm(E, before, x);
    linear(4 * E, E, x, fc1, hidden);
    relu(4 * E, hidden);
    linear(E, 4 * E, hidden, fc2, x);
    residual(E, x, before);
    linear(TOKENS, E, x, lm_head, logits);
}

int main(int argc, char **argv) {
    size_t E = parameter(argc, argv, "E"), heads = parameter(argc, argv, "heads");
    size_t sizes[9] = {TOKENS * E, POSITIONS * E, TOKENS * E, E * E, E * E, E * E, E * E, 4 * E * E, 4 * E * E};
    real *weights[9], *logits = vector(TOKENS);
    for (size_t w = 0; w < 9; w++) {
        weights[w] = vector(sizes[w]);
        for (size_t i = 0; i < sizes[w]; i++)
            weights[w][i] = 1;
        declare(weights[w], sizes[w]);
    }
    dmdprof_begin("microgpt");
    microgpt(E, heads, weights, logits);
    output(logits, TOKENS);
    dmdprof_end("microgpt");
    show(argc, argv, logits, TOKENS);
    return 0;
}
