/* Benchmark: one token after the other through a small language model: matrix times vector for all weights of a layer,
 * attention over what came before, no output that means anything (default 3 tokens; 4 layers of 512, 16 heads).
 * Compile with clang -O2 -fno-vectorize -fno-slp-vectorize. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LAYERS 4
#define WIDTH 512
#define INNER 1376
#define HEADS 16
#define MOST_TOKENS 1024

__attribute__((noinline)) void multiply(float *out, const float *x, const float *weights, int columns, int rows) {
    for (int i = 0; i < rows; i++) {
        float sum = 0;
        for (int j = 0; j < columns; j++)
            sum += weights[(size_t)i * (size_t)columns + (size_t)j] * x[j];
        out[i] = sum;
    }
}

__attribute__((noinline)) void normalise(float *out, const float *x) {
    float squares = 0;
    for (int i = 0; i < WIDTH; i++)
        squares += x[i] * x[i];
    float scale = 1 / sqrtf(squares / WIDTH + 1e-5f);
    for (int i = 0; i < WIDTH; i++)
        out[i] = x[i] * scale;
}

__attribute__((noinline)) void attend(float *out, const float *query, const float *keys, const float *values, int tokens) {
    enum { EACH = WIDTH / HEADS };
    static float scores[MOST_TOKENS];
    for (int head = 0; head < HEADS; head++) {
        float most = -1e30f, sum = 0;
        for (int t = 0; t < tokens; t++) {
            float score = 0;
            for (int i = 0; i < EACH; i++)
                score += query[head * EACH + i] * keys[t * WIDTH + head * EACH + i];
            scores[t] = score / sqrtf(EACH);
            most = scores[t] > most ? scores[t] : most;
        }
        for (int t = 0; t < tokens; t++)
            sum += scores[t] = expf(scores[t] - most);
        memset(out + head * EACH, 0, EACH * sizeof *out);
        for (int t = 0; t < tokens; t++)
            for (int i = 0; i < EACH; i++)
                out[head * EACH + i] += scores[t] / sum * values[t * WIDTH + head * EACH + i];
    }
}

static float *room(size_t count) {
    float *numbers = malloc(count * sizeof *numbers);
    if (!numbers)
        exit(1);
    for (size_t i = 0; i < count; i++)
        numbers[i] = (float)((double)(i * 2654435761u % 1021) / 1021 - 0.5) / 16;
    return numbers;
}

int main(int argc, char **argv) {
    int tokens = argc > 1 ? atoi(argv[1]) : 3;
    if (tokens < 1 || tokens > MOST_TOKENS)
        return 2;
    float *square[LAYERS][4], *wide[LAYERS][3], *keys[LAYERS], *values[LAYERS];
    for (int l = 0; l < LAYERS; l++) {
        for (int k = 0; k < 4; k++)
            square[l][k] = room(WIDTH * WIDTH);
        for (int k = 0; k < 3; k++)
            wide[l][k] = room(WIDTH * INNER);
        keys[l] = room(MOST_TOKENS * WIDTH), values[l] = room(MOST_TOKENS * WIDTH);
    }
    float *x = room(WIDTH), *normal = room(WIDTH), *query = room(WIDTH), *mixed = room(WIDTH), *up = room(INNER), *gate = room(INNER);
    for (int t = 0; t < tokens; t++)
        for (int l = 0; l < LAYERS; l++) {
            normalise(normal, x);
            multiply(query, normal, square[l][0], WIDTH, WIDTH);
            multiply(keys[l] + (size_t)t * WIDTH, normal, square[l][1], WIDTH, WIDTH);
            multiply(values[l] + (size_t)t * WIDTH, normal, square[l][2], WIDTH, WIDTH);
            attend(mixed, query, keys[l], values[l], t + 1);
            multiply(query, mixed, square[l][3], WIDTH, WIDTH);
            for (int i = 0; i < WIDTH; i++)
                x[i] += query[i];
            normalise(normal, x);
            multiply(up, normal, wide[l][0], WIDTH, INNER);
            multiply(gate, normal, wide[l][1], WIDTH, INNER);
            for (int i = 0; i < INNER; i++)
                up[i] *= gate[i] / (1 + expf(-gate[i]));
            multiply(query, up, wide[l][2], INNER, WIDTH);
            for (int i = 0; i < WIDTH; i++)
                x[i] += query[i];
        }
    double sum = 0;
    for (int i = 0; i < WIDTH; i++)
        sum += x[i];
    printf("decode %d: %.4f\n", tokens, sum);
    return 0;
}
