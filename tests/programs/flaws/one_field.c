// Particles of 64 bytes, of which one loop reads the mass only.
#include <stdio.h>
#include <stdlib.h>

struct particle {
	double position[3], velocity[3], charge, mass;
};

enum { N = 20000 };

__attribute__((noinline)) static void fill(struct particle *p)
{
	for (int i = 0; i < N; i++) {
		for (int d = 0; d < 3; d++)
			p[i].position[d] = p[i].velocity[d] = d * i;
		p[i].charge = i & 1;
		p[i].mass = i;
	}
}

__attribute__((noinline)) static double mass(const struct particle *p)
{
	double sum = 0;
	for (int i = 0; i < N; i++)
		sum += p[i].mass; // flaw: pack
	return sum;
}

__attribute__((noinline)) static double charge(const struct particle *p)
{
	double sum = 0;
	for (int i = 0; i < N; i++)
		sum += p[i].charge;
	return sum;
}

int main(int argc, char **argv)
{
	(void)argv;
	struct particle *p = malloc(N * sizeof *p);
	fill(p);
	double sum = 0;
	for (int round = 0; round < argc + 9; round++) { // loop
		p[round].mass++;
		sum += mass(p);
	}
	printf("%.0f %.0f\n", sum, charge(p));
	free(p);
	return 0;
}
