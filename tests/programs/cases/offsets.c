/* Reads the first quarter of a static array three times, and every fourth number of the second half of a heap block once. */
#include <stdio.h>
#include <stdlib.h>

static int table[4096];

int main(int argc, char **argv)
{
	int n = argc * 1024, sum = 0;
	int *block = malloc(argc * 65536);
	for (int i = 0; i < 4096; i++)
		table[i] = i;
	for (int i = 0; i < 16384; i++)
		block[i] = i;
	for (volatile int round = 0; round < 3; round++)
		for (int i = 0; i < n; i++)
			sum += ((const volatile int *)table)[i] ^ round;
	for (int i = 8192; i < 16384; i += 4)
		sum += ((const volatile int *)block)[i];
	printf("%d\n", sum);
	free(block);
	return 0;
}
