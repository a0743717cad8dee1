/* Inline assembly: operands in memory have an address and a type, barriers touch nothing, and what an address in a
 * register leads to is not counted, but named. */
#include <stdlib.h>

#define FN __attribute__((noinline))
struct three {
	long a, b, c;
};

/* Reads 8n. */
FN static long loads(const long *a, int n)
{
	long s = 0, t;
	for (int i = 0; i < n; i++) {
		__asm__ volatile("movq %1, %0" : "=r"(t) : "m"(a[i]));
		s += t;
	}
	return s;
}

/* Writes 4n. */
FN static void stores(int *a, int n)
{
	for (int i = 0; i < n; i++)
		__asm__("movl %1, %0" : "=m"(a[i]) : "r"(i));
}

/* Reads and writes 4n. */
FN static void updates(int *a, int n)
{
	for (int i = 0; i < n; i++)
		__asm__ volatile("lock; addl $1, %0" : "+m"(a[i]) : : "memory", "cc");
}

/* Reads 24n: what is declared to be read. */
FN static long declared(const struct three *a, int n)
{
	long s = 0, t;
	for (int i = 0; i < n; i++) {
		__asm__("movq 8(%1), %0" : "=r"(t) : "r"(a + i), "m"(a[i]));
		s += t;
	}
	return s;
}

/* Reads 8n, in records for all iterations. */
FN static long barriers(const volatile long *a, int n)
{
	long s = 0;
	for (int i = 0; i < n; i++) {
		s += a[i];
		__asm__ volatile("" : : "r"(a) : "memory");
		__asm__ volatile("mfence" : : : "memory");
	}
	return s;
}

/* Not counted: n executions. */
FN static long hidden(const long *a, int n)
{
	long s = 0, t;
	for (int i = 0; i < n; i++) {
		__asm__ volatile("movq (%1), %0" : "=r"(t) : "r"(a + i));
		s += t;
	}
	return s;
}

/* Not counted: the address is a number. */
FN static long hidden_number(const long *a)
{
	long t;
	__asm__("movq (%1), %0" : "=r"(t) : "r"((unsigned long)a));
	return t;
}

int main(void)
{
	enum { N = 100 };
	long *a = malloc(N * sizeof *a);
	int *b = malloc(N * sizeof *b);
	struct three *c = calloc(N, sizeof *c);
	for (int i = 0; i < N; i++)
		a[i] = i;
	long s = loads(a, N);
	stores(b, N), updates(b, N);
	s += declared(c, N) + barriers(a, N);
	s += hidden(a, N) + hidden_number(a + 3);
	return s != 3 * 4950 + 3 || b[7] != 8;
}
