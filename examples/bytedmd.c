/* The kernels whose costs ByteDMD publishes, each in a region of its own, on the machine that prices values.
 *
 *     dmdprof run --model values --bytes-per-element 1 bytedmd.c
 *
 * Every operand of an arithmetic instruction is read from one LRU stack of live values and costs ceil(sqrt(depth)), here
 * with elements of one byte; moving values and keeping results is free. The inputs of a kernel lie on the stack when it
 * begins, the first argument on top. The region table must show exactly these costs:
 *
 * cost my_add: 6
 * cost dot_sum n=2: 12
 * cost dot n=2: 11
 * cost matvec n=2: 26
 * cost matvec n=4: 157
 * cost matvec n=8: 896
 * cost matvec n=16: 5354
 * cost vecmat n=2: 25
 * cost vecmat n=4: 150
 * cost vecmat n=8: 832
 * cost vecmat n=16: 4688
 * cost matmul n=2: 57
 * cost matmul n=4: 720
 * cost matmul n=8: 8867
 * cost matmul n=16: 109783
 * cost microgpt E=4 heads=2: 3214
 *
 * By hand, my_add: a, b, c lie at depths 1, 2, 3. a + b costs 1 + 2; both die, the sum is pushed above c, and adding c
 * costs 1 + 2 again.
 *
 * To try: --bytes-per-element 8, where a number has eight bytes, each with a depth; sum += p for sum = p first, which is
 * the difference between dot_sum and dot: 0 + p is an instruction, too; the loops of matmul in another order.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../runtime/markers/include/dmdprof.h"

enum { MOST = 16 * 16, E = 4, HEADS = 2, TOKENS = 4 };

static double my_add(double a, double b, double c) {
    return a + b + c;
}

static double dot_sum(size_t n, const double *a, const double *b) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static double dot(size_t n, const double *a, const double *b) {
    double sum = a[0] * b[0];
    for (size_t i = 1; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static void matvec(size_t n, const double *a, const double *x, double *y) {
    for (size_t i = 0; i < n; i++) {
        double sum = a[i * n] * x[0];
        for (size_t j = 1; j < n; j++)
            sum += a[i * n + j] * x[j];
        y[i] = sum;
    }
}

static void vecmat(size_t n, const double *a, const double *x, double *y) {
    for (size_t j = 0; j < n; j++) {
        double sum = x[0] * a[j];
        for (size_t i = 1; i < n; i++)
            sum += x[i] * a[i * n + j];
        y[j] = sum;
    }
}

static void matmul(size_t n, const double *a, const double *b, double *c) {
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = a[i * n] * b[j];
            for (size_t k = 1; k < n; k++)
                sum += a[i * n + k] * b[k * n + j];
            c[i * n + j] = sum;
        }
}

/* The parts of microgpt: one token at position 0 through one transformer layer. */

static void embed(const double *token, const double *position, double *x) {
    for (size_t i = 0; i < E; i++)
        x[i] = token[i] + position[i];
}

static void rmsnorm(const double *x, double *y) {
    double sum = 0;
    for (size_t i = 0; i < E; i++)
        sum += x[i] * x[i];
    double scale = pow(sum * (1.0 / E), -0.5);
    for (size_t i = 0; i < E; i++)
        y[i] = x[i] * scale;
}

static void linear(size_t rows, size_t columns, const double *x, const double *w, double *y) {
    for (size_t r = 0; r < rows; r++) {
        double sum = 0;
        for (size_t c = 0; c < columns; c++)
            sum += w[r * columns + c] * x[c];
        y[r] = sum;
    }
}

/* Of the only position there is: the softmax of one score is 1 whatever the score. */
static void scores(size_t size, const double *q, const double *k) {
    double sum = 0;
    for (size_t j = 0; j < size; j++)
        sum += q[j] * k[j];
    double unused = sum / sqrt((double)size);
    (void)unused;
}

static void residual(double *x, const double *before) {
    for (size_t i = 0; i < E; i++)
        x[i] = x[i] + before[i];
}

static void relu(size_t n, double *x) {
    for (size_t i = 0; i < n; i++)
        x[i] = x[i] * (x[i] > 0);
}

struct weights {
    double wte[TOKENS * E], wpe[TOKENS * E], lm_head[TOKENS * E];
    double wq[E * E], wk[E * E], wv[E * E], wo[E * E], fc1[4 * E * E], fc2[4 * E * E];
};

static void microgpt(const struct weights *w, double *logits) {
    double x[E], before[E], q[E], k[E], v[E], attended[E], hidden[4 * E];
    size_t size = E / HEADS;
    embed(w->wte, w->wpe, x);
    rmsnorm(x, before);
    rmsnorm(before, x);
    linear(E, E, x, w->wq, q);
    linear(E, E, x, w->wk, k);
    linear(E, E, x, w->wv, v);
    for (size_t h = 0; h < HEADS; h++) {
        scores(size, q + h * size, k + h * size);
        memcpy(attended + h * size, v + h * size, size * sizeof *v);
    }
    linear(E, E, attended, w->wo, x);
    residual(x, before);
    memcpy(before, x, sizeof x);
    rmsnorm(before, x);
    linear(4 * E, E, x, w->fc1, hidden);
    relu(4 * E, hidden);
    linear(E, 4 * E, hidden, w->fc2, x);
    residual(x, before);
    linear(TOKENS, E, x, w->lm_head, logits);
}

static void ones(double *x, size_t n) {
    for (size_t i = 0; i < n; i++)
        x[i] = 1;
}

/* An input of the next kernel: n ones. The first call is for its first argument. */
static void input(double *x, size_t n) {
    ones(x, n);
    dmdprof_input(x, n * sizeof *x);
}

static void run_my_add(void) {
    double a, b, c;
    input(&a, 1);
    input(&b, 1);
    input(&c, 1);
    dmdprof_begin("my_add");
    double sum = my_add(a, b, c);
    dmdprof_output(&sum, sizeof sum);
    dmdprof_end("my_add");
}

static void run_dot(const char *name, double (*kernel)(size_t, const double *, const double *), size_t n) {
    static double a[MOST], b[MOST];
    char region[32];
    snprintf(region, sizeof region, "%s n=%zu", name, n);
    input(a, n);
    input(b, n);
    dmdprof_begin(region);
    double sum = kernel(n, a, b);
    dmdprof_output(&sum, sizeof sum);
    dmdprof_end(region);
}

/* A kernel of an n x n matrix and another argument of m numbers, with m results. */
static void run_matrix(const char *name, void (*kernel)(size_t, const double *, const double *, double *), size_t n,
                       size_t m) {
    static double a[MOST], b[MOST], c[MOST];
    char region[32];
    snprintf(region, sizeof region, "%s n=%zu", name, n);
    input(a, n * n);
    input(b, m);
    dmdprof_begin(region);
    kernel(n, a, b, c);
    dmdprof_output(c, m * sizeof *c);
    dmdprof_end(region);
}

static void run_microgpt(void) {
    static struct weights w;
    double logits[TOKENS];
    input(w.wte, TOKENS * E);
    input(w.wpe, TOKENS * E);
    input(w.lm_head, TOKENS * E);
    input(w.wq, E * E);
    input(w.wk, E * E);
    input(w.wv, E * E);
    input(w.wo, E * E);
    input(w.fc1, 4 * E * E);
    input(w.fc2, 4 * E * E);
    dmdprof_begin("microgpt E=4 heads=2");
    microgpt(&w, logits);
    dmdprof_output(logits, sizeof logits);
    dmdprof_end("microgpt E=4 heads=2");
}

int main(void) {
    run_my_add();
    run_dot("dot_sum", dot_sum, 2);
    run_dot("dot", dot, 2);
    for (size_t n = 2; n <= 16; n *= 2)
        run_matrix("matvec", matvec, n, n);
    for (size_t n = 2; n <= 16; n *= 2)
        run_matrix("vecmat", vecmat, n, n);
    for (size_t n = 2; n <= 16; n *= 2)
        run_matrix("matmul", matmul, n, n * n);
    run_microgpt();
    return 0;
}
