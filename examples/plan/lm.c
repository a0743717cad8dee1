// A small language model of the usual kind: normalisation, attention over cached keys and values, a gated feed-forward layer.
//
//     lm prefill N    reads N tokens together and fills the cache: each weight is used N times while it is near
//     lm step N       with N tokens in the cache, computes one token: every weight and the whole cache are read once
//
// The two phases differ as they do in large models: the first does many operations per byte, the second few. The cache grows by
// 2 * LAYERS * WIDTH floats per token and is the only thing that grows. Weights are made by a formula; the text would be nonsense, its cost is not.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LAYERS 4
#define WIDTH 96
#define HEADS 4
#define HEAD (WIDTH / HEADS)
#define HIDDEN 256
#define WORDS 512

typedef struct {
    float query[WIDTH][WIDTH], key[WIDTH][WIDTH], value[WIDTH][WIDTH], out[WIDTH][WIDTH];
    float gate[HIDDEN][WIDTH], up[HIDDEN][WIDTH], down[WIDTH][HIDDEN];
} Layer;

typedef struct {
    Layer layers[LAYERS];
    float words[WORDS][WIDTH];
} Model;

typedef struct {
    float key[LAYERS][WIDTH], value[LAYERS][WIDTH];
} Entry;

static Model *model;
static Entry *cache;

static void fill(float *to, size_t count, unsigned seed) {
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        to[i] = ((int)(seed >> 16) - 32768) * (1.0f / 32768.0f / 16.0f);
    }
}

static void normalise(float *to, const float *from) {
    float sum = 1e-5f;
    for (int i = 0; i < WIDTH; i++)
        sum += from[i] * from[i] / WIDTH;
    float scale = 1.0f / sqrtf(sum);
    for (int i = 0; i < WIDTH; i++)
        to[i] = from[i] * scale;
}

// rows x columns weights times `batch` vectors: each row of weights is used for all vectors before the next one.
static void multiply(float *to, const float *weights, const float *from, int rows, int columns, int batch) {
    for (int r = 0; r < rows; r++) {
        const float *row = weights + (size_t)r * columns;
        for (int b = 0; b < batch; b++) {
            const float *vector = from + (size_t)b * columns;
            float sum[8] = {0};
            for (int c = 0; c < columns; c += 8)
                for (int k = 0; k < 8; k++)
                    sum[k] += row[c + k] * vector[c + k];
            to[(size_t)b * rows + r] = ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
        }
    }
}

static void attend(float *to, const float *query, int layer, int tokens, float *scores) {
    for (int h = 0; h < HEADS; h++) {
        const float *q = query + h * HEAD;
        float most = -1e30f, sum = 0.0f;
        for (int t = 0; t < tokens; t++) {
            const float *k = cache[t].key[layer] + h * HEAD;
            float score = 0.0f;
            for (int i = 0; i < HEAD; i++)
                score += q[i] * k[i];
            scores[t] = score / sqrtf(HEAD);
            if (scores[t] > most)
                most = scores[t];
        }
        for (int t = 0; t < tokens; t++) {
            scores[t] = expf(scores[t] - most);
            sum += scores[t];
        }
        float *out = to + h * HEAD;
        for (int i = 0; i < HEAD; i++)
            out[i] = 0.0f;
        for (int t = 0; t < tokens; t++) {
            const float *v = cache[t].value[layer] + h * HEAD;
            for (int i = 0; i < HEAD; i++)
                out[i] += scores[t] / sum * v[i];
        }
    }
}

// `batch` tokens that follow `before` others through all layers; gives the word that the last one is nearest to.
static int forward(int before, int batch) {
    size_t wide = (size_t)batch * WIDTH, hidden = (size_t)batch * HIDDEN;
    float *x = malloc(wide * sizeof(float)), *n = malloc(wide * sizeof(float)), *q = malloc(wide * sizeof(float));
    float *k = malloc(wide * sizeof(float)), *v = malloc(wide * sizeof(float)), *a = malloc(wide * sizeof(float));
    float *g = malloc(hidden * sizeof(float)), *u = malloc(hidden * sizeof(float));
    float *scores = malloc((size_t)(before + batch) * sizeof(float));
    for (int b = 0; b < batch; b++)
        memcpy(x + (size_t)b * WIDTH, model->words[(before + b) * 7 % WORDS], WIDTH * sizeof(float));
    for (int l = 0; l < LAYERS; l++) {
        Layer *w = &model->layers[l];
        for (int b = 0; b < batch; b++)
            normalise(n + (size_t)b * WIDTH, x + (size_t)b * WIDTH);
        multiply(q, *w->query, n, WIDTH, WIDTH, batch);
        multiply(k, *w->key, n, WIDTH, WIDTH, batch);
        multiply(v, *w->value, n, WIDTH, WIDTH, batch);
        for (int b = 0; b < batch; b++) {
            memcpy(cache[before + b].key[l], k + (size_t)b * WIDTH, WIDTH * sizeof(float));
            memcpy(cache[before + b].value[l], v + (size_t)b * WIDTH, WIDTH * sizeof(float));
        }
        for (int b = 0; b < batch; b++)
            attend(a + (size_t)b * WIDTH, q + (size_t)b * WIDTH, l, before + b + 1, scores);
        multiply(n, *w->out, a, WIDTH, WIDTH, batch);
        for (size_t i = 0; i < wide; i++)
            x[i] += n[i];
        for (int b = 0; b < batch; b++)
            normalise(n + (size_t)b * WIDTH, x + (size_t)b * WIDTH);
        multiply(g, *w->gate, n, HIDDEN, WIDTH, batch);
        multiply(u, *w->up, n, HIDDEN, WIDTH, batch);
        for (size_t i = 0; i < hidden; i++)
            g[i] = g[i] / (1.0f + expf(-g[i])) * u[i];
        multiply(n, *w->down, g, WIDTH, HIDDEN, batch);
        for (size_t i = 0; i < wide; i++)
            x[i] += n[i];
    }
    float logits[WORDS];
    multiply(logits, *model->words, x + wide - WIDTH, WORDS, WIDTH, 1);
    int best = 0;
    for (int i = 1; i < WORDS; i++)
        if (logits[i] > logits[best])
            best = i;
    free(x), free(n), free(q), free(k), free(v), free(a), free(g), free(u), free(scores);
    return best;
}

__attribute__((noinline)) static int prefill(int tokens) { return forward(0, tokens); }

__attribute__((noinline)) static int step(int before) { return forward(before, 1); }

int main(int argc, char **argv) {
    int tokens = argc == 3 ? atoi(argv[2]) : 0;
    if (tokens < 1 || (strcmp(argv[1], "prefill") && strcmp(argv[1], "step"))) {
        fprintf(stderr, "usage: lm prefill|step TOKENS\n");
        return 2;
    }
    model = malloc(sizeof *model);
    cache = malloc((size_t)(tokens + 1) * sizeof *cache);
    fill((float *)model, sizeof *model / sizeof(float), 1);
    int word;
    if (!strcmp(argv[1], "prefill")) {
        word = prefill(tokens);
    } else {
        // What the tokens before would have left.
        fill((float *)cache, (size_t)tokens * sizeof *cache / sizeof(float), 2);
        word = step(tokens);
    }
    printf("%s %d: word %d\n", argv[1], tokens, word);
    return 0;
}
