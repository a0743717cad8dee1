// One loop makes all values, another uses them.
#include <stdio.h>
#include <stdlib.h>

enum { N = 200000 };

__attribute__((noinline)) static void produce(double *values)
{
	for (int i = 0; i < N; i++)
		values[i] = i * 0.5;
}

__attribute__((noinline)) static double consume(const double *values)
{
	double sum = 0;
	for (int i = 0; i < N; i++)
		sum += values[i]; // flaw: fuse
	return sum;
}

int main(void)
{
	double *values = malloc(N * sizeof *values);
	produce(values);
	printf("%.0f\n", consume(values));
	free(values);
	return 0;
}
