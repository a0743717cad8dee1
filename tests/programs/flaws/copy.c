// Copies what it only reads.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 100000 };

__attribute__((noinline)) static double sum(const double *values)
{
	double *mine = malloc(N * sizeof *mine);
	memcpy(mine, values, N * sizeof *mine);
	double sum = 0;
	for (int i = 0; i < N; i++)
		sum += mine[i]; // flaw: drop the copy
	free(mine);
	return sum;
}

int main(int argc, char **argv)
{
	(void)argv;
	double *values = malloc(N * sizeof *values), all = 0;
	for (int i = 0; i < N; i++)
		values[i] = i;
	for (int round = 0; round < argc + 2; round++) // loop
		all += sum(values);
	printf("%.0f\n", all);
	free(values);
	return 0;
}
