/* Declarations that are not what was meant, and long doubles: each in a region of its own. */
#include <stdlib.h>

#include "../../runtime/markers/include/dmdprof.h"

static double a[4] = {1, 2, 3, 4}, b[4] = {1, 2, 3, 4};
static long double wide[2] = {1, 2};

static double sum(const double *x) {
	double s = x[0];
	for (int i = 1; i < 4; i++)
		s += x[i];
	return s;
}

int main(void) {
	double s;

	dmdprof_input(a, sizeof a);
	double early = a[0];
	dmdprof_begin("loaded early");
	s = early + a[1];
	dmdprof_output(&s, sizeof s);
	dmdprof_end("loaded early");

	dmdprof_input(a, sizeof a);
	dmdprof_input(b, sizeof b);
	dmdprof_begin("never read");
	s = sum(a);
	dmdprof_output(&s, sizeof s);
	dmdprof_end("never read");

	dmdprof_begin("constants");
	s = sum(a);
	dmdprof_output(&s, sizeof s);
	dmdprof_end("constants");

	dmdprof_input(wide, sizeof wide);
	dmdprof_begin("padding");
	wide[0] = wide[0] + wide[1];
	dmdprof_output(wide, sizeof wide);
	dmdprof_end("padding");
}
