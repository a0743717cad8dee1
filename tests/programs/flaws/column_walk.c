// Sums a matrix that is stored row by row, column by column.
#include <stdio.h>
#include <stdlib.h>

enum { N = 768 };

static double matrix[N][N];

__attribute__((noinline)) static void fill(void)
{
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++)
			matrix[i][j] = i ^ j;
}

__attribute__((noinline)) static double total(void)
{
	double sum = 0;
	for (int j = 0; j < N; j++)
		for (int i = 0; i < N; i++)
			sum += matrix[i][j]; // flaw: interchange
	return sum;
}

int main(void)
{
	fill();
	printf("%.0f\n", total());
	return 0;
}
