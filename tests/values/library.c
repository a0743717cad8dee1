/* Library functions that move values or call back: by hand and by the library, the numbers are the same. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "../../runtime/markers/include/dmdprof.h"

enum { n = 12 };
struct row { long key; double v; };

static int by_key(const void *a, const void *b) {
	const struct row *x = a, *y = b;
	return (int)(x->key - y->key);
}

static int by_key_with(const void *a, const void *b, void *sign) { return *(int *)sign * by_key(a, b); }

void qsort_r(void *, size_t, size_t, int (*)(const void *, const void *, void *), void *);

enum how { BY_HAND, QSORT, QSORT_R, BSEARCH, WMEMCPY, WMEMMOVE, SNPRINTF };

static void kernel(const char *name, enum how how) {
	static double x[n];
	for (int i = 0; i < n; i++)
		x[i] = 1 + i * 7 % 13;
	dmdprof_input(x, sizeof x);
	dmdprof_begin(name);
	struct row y[n];
	for (int i = 0; i < n; i++) {
		y[i].key = n - i;
		y[i].v = x[i] * 2;
	}
	int up = 1;
	switch (how) {
	case QSORT: qsort(y, n, sizeof *y, by_key); break;
	case QSORT_R: qsort_r(y, n, sizeof *y, by_key_with, &up); break;
	default:
		for (int i = 0; i < n / 2; i++) {
			struct row t = y[i];
			y[i] = y[n - 1 - i];
			y[n - 1 - i] = t;
		}
	}
	struct row z[n];
	switch (how) {
	case WMEMCPY: wmemcpy((wchar_t *)z, (wchar_t *)y, sizeof z / sizeof(wchar_t)); break;
	case WMEMMOVE: wmemmove((wchar_t *)z, (wchar_t *)y, sizeof z / sizeof(wchar_t)); break;
	default: memcpy(z, y, sizeof z);
	}
	double s = z[0].v;
	for (int i = 1; i < n; i++) {
		if (how == BSEARCH) {
			struct row wanted = {i + 1, 0};
			s += ((struct row *)bsearch(&wanted, z, n, sizeof *z, by_key))->v;
		} else {
			s += z[i].v;
		}
	}
	char text[40];
	if (how == SNPRINTF)
		snprintf(text, sizeof text, "%g", s);
	dmdprof_output(&s, sizeof s);
	dmdprof_end(name);
}

int main(void) {
	kernel("by hand", BY_HAND);
	kernel("qsort", QSORT);
	kernel("qsort_r", QSORT_R);
	kernel("bsearch", BSEARCH);
	kernel("wmemcpy", WMEMCPY);
	kernel("wmemmove", WMEMMOVE);
	kernel("snprintf", SNPRINTF);
}
