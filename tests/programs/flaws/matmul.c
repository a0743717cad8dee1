// A matrix product without tiles: all of b goes by for each row of a.
#include <stdio.h>

enum { N = 128 };

static double a[N][N], b[N][N], c[N][N];

__attribute__((noinline)) static void multiply(void)
{
	for (int i = 0; i < N; i++) // loop
		for (int k = 0; k < N; k++) {
			double f = a[i][k];
			for (int j = 0; j < N; j++)
				c[i][j] += f *
				    b[k][j]; // flaw: tile
		}
}

int main(void)
{
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++)
			a[i][j] = b[i][j] = i + j;
	multiply();
	printf("%.0f\n", c[N - 1][N - 1]);
	return 0;
}
