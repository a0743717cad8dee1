/* One dot product, computed again and again: identities go through everything that C moves values with, and moves are
 * free, so that every region costs the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "../../runtime/markers/include/dmdprof.h"

#define N 4

typedef double (*product)(double, double);

static double mul(double a, double b) { return a * b; }

static double plain(const double *a, const double *b) {
	double s = a[0] * b[0];
	for (int i = 1; i < N; i++)
		s = s + a[i] * b[i];
	return s;
}

static double through_pointer(const double *a, const double *b) {
	volatile product p = mul;
	double s = p(a[0], b[0]);
	for (int i = 1; i < N; i++)
		s = s + p(a[i], b[i]);
	return s;
}

static double recursive(const double *a, const double *b, int i, double s) {
	if (i == N)
		return s;
	return recursive(a, b, i + 1, i ? s + a[i] * b[i] : a[i] * b[i]);
}

struct pair { double a, b; };
struct big { double a[N], b[N]; long unused; };

static double of_pair(struct pair p) { return p.a * p.b; }
static struct pair paired(double a, double b) { struct pair p = { a, b }; return p; }

static double structs(const double *a, const double *b) {
	double s = of_pair(paired(a[0], b[0]));
	for (int i = 1; i < N; i++)
		s = s + of_pair(paired(a[i], b[i]));
	return s;
}

static double of_big(struct big big) { return plain(big.a, big.b); }

static struct big made_big(const double *a, const double *b) {
	struct big big;
	memcpy(big.a, a, sizeof big.a);
	memcpy(big.b, b, sizeof big.b);
	big.unused = 7;
	return big;
}

static double heap(const double *a, const double *b) {
	double *copy = malloc(sizeof(double));
	copy[0] = a[0];
	copy = realloc(copy, 100000 * sizeof(double));
	for (int i = 1; i < N; i++)
		copy[i] = a[i];
	double *moved = calloc(N, sizeof(double));
	memmove(moved, copy, N * sizeof(double));
	double s = plain(moved, b);
	free(copy);
	free(moved);
	return s;
}

/* What is copied are results: an input would be cut into bytes, because bytes are what first looks at it. */
static double bytes(const double *a, const double *b) {
	double s = 0;
	for (int i = 0; i < N; i++) {
		double product = a[i] * b[i], copy;
		const unsigned char *from = (const unsigned char *)&product;
		unsigned char *to = (unsigned char *)&copy;
		for (size_t at = 0; at < sizeof copy; at++)
			to[at] = from[at];
		s = i ? s + copy : copy;
	}
	return s;
}

static double words(const double *a, const double *b) {
	double copy[N];
	for (int i = 0; i < N; i++) {
		union { double d; unsigned long u; } box = { .d = a[i] };
		unsigned long word = box.u;
		memcpy(&copy[i], &word, sizeof word);
	}
	return plain(copy, b);
}

static double chosen(const double *a, const double *b, int which) {
	double s = 0;
	for (int i = 0; i < N; i++) {
		double p;
		switch (which) {
		case 0: p = a[i] * b[i]; break;
		case 1: p = 0; break;
		default: p = 1; break;
		}
		const double *from = which ? b : &p;
		s = i ? s + *from : *from;
	}
	return s;
}

static jmp_buf here;
static double kept;

static void leave(double value) {
	kept = value;
	longjmp(here, 1);
}

static double jumped(const double *a, const double *b) {
	volatile int i = 0;
	volatile double s = 0;
	while (i < N) {
		if (!setjmp(here))
			leave(a[i] * b[i]);
		s = i ? s + kept : kept;
		i = i + 1;
	}
	return s;
}

static double sum_of(int count, ...) {
	/* The values come in, but who they are does not: see `unfollowed.c`. */
	va_list list;
	double s = 0;
	va_start(list, count);
	for (int i = 0; i < count; i++)
		s += va_arg(list, double);
	va_end(list);
	return s;
}

typedef double lanes __attribute__((vector_size(2 * sizeof(double))));

/* Lane by lane, in the order of the scalar program. */
static double vectors(const double *a, const double *b) {
	double s = 0;
	for (int i = 0; i < N; i += 2) {
		lanes va = { a[i], a[i + 1] }, vb;
		memcpy(&vb, b + i, sizeof vb);
		lanes swapped = __builtin_shufflevector(va, va, 1, 0);
		for (int lane = 0; lane < 2; lane++) {
			double p = swapped[1 - lane] * vb[lane];
			s = i + lane ? s + p : p;
		}
	}
	return s;
}

static int by_key(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

/* The library calls back in between; that must confuse nobody. */
static double called_back(const double *a, const double *b) {
	int keys[] = { 3, 1, 2, 0 };
	double s = a[0] * b[0];
	for (int i = 1; i < N; i++) {
		qsort(keys, 4, sizeof *keys, by_key);
		s = s + mul(a[i], b[i]);
	}
	return s;
}

static const double A[N] = { 1, 2, 3, 4 }, B[N] = { 5, 6, 7, 8 };

#define REGION(name, expression)                                                                                       \
	do {                                                                                                           \
		double a[N], b[N];                                                                                     \
		memcpy(a, A, sizeof a);                                                                                \
		memcpy(b, B, sizeof b);                                                                                \
		dmdprof_input(a, sizeof a);                                                                            \
		dmdprof_input(b, sizeof b);                                                                            \
		dmdprof_begin(name);                                                                                   \
		double result = expression;                                                                            \
		dmdprof_output(&result, sizeof result);                                                                \
		dmdprof_end(name);                                                                                     \
		if (result != 70)                                                                                      \
			return 1;                                                                                      \
	} while (0)

int main(void) {
	struct big big;
	REGION("plain", plain(a, b));
	REGION("through a pointer", through_pointer(a, b));
	REGION("recursion", recursive(a, b, 0, 0));
	REGION("small structures", structs(a, b));
	REGION("large structures", of_big((big = made_big(a, b))));
	REGION("the heap", heap(a, b));
	REGION("byte by byte", bytes(a, b));
	REGION("as integers", words(a, b));
	REGION("choices", chosen(a, b, 0));
	REGION("longjmp", jumped(a, b));
	REGION("vectors", vectors(a, b));
	REGION("callbacks", called_back(a, b));
	return sum_of(2, 1.0, 2.0) != 3;
}
