// Memory of every kind, of which it is known how many bytes are read: each block is written whole and read whole.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static long global[100];

__attribute__((noinline)) static void fill(long *at, long n)
{
	for (long i = 0; i < n; i++)
		((volatile long *)at)[i] = i;
}

__attribute__((noinline)) static long sum(const long *at, long n)
{
	long sum = 0;
	for (long i = 0; i < n; i++)
		sum += ((const volatile long *)at)[i];
	return sum;
}

__attribute__((noinline)) static long *first(void)
{
	return malloc(200 * sizeof(long));
}

__attribute__((noinline)) static long *second(void)
{
	return malloc(200 * sizeof(long));
}

__attribute__((noinline)) static long *grown(void)
{
	return malloc(50 * sizeof(long));
}

__attribute__((noinline)) static long on_stack(void)
{
	long local[30];
	fill(local, 30);
	return sum(local, 30);
}

int main(int argc, char **argv)
{
	long all = 0;
	long *a = first();
	fill(a, 200);
	all += sum(a, 200);
	unsigned long before = (unsigned long)a;
	free(a);
	// The allocator hands the same address out again.
	long *b = second();
	fill(b, 200);
	all += sum(b, 200);
	printf("%s\n", before == (unsigned long)b ? "again" : "elsewhere");

	// Grows and moves, because `b` or the blocker is behind it.
	long *c = grown();
	long *blocker = malloc(64);
	fill(c, 50);
	c = realloc(c, 5000 * sizeof(long));
	fill(c + 50, 4950);
	all += sum(c, 5000);
	free(blocker);
	free(c);
	free(b);

	fill(global, 100);
	all += sum(global, 100);
	all += on_stack();

	if (argc > 1) {
		int file = open(argv[1], O_RDONLY);
		long *mapped = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, file, 0);
		if (mapped == MAP_FAILED)
			return 1;
		all += sum(mapped, 512);
		munmap(mapped, 4096);
		close(file);
	}
	long *anonymous = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	fill(anonymous, 1024);
	all += sum(anonymous, 1024);
	printf("%ld\n", all);
	return 0;
}
