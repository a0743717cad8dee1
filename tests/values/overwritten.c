/* Memory that code without hooks writes: the call is counted, wherever the memory lies. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../runtime/markers/include/dmdprof.h"

static double total(const double *x) { return x[0] + x[1] + x[2]; }

int main(void) {
	static double a[3] = {1, 2, 3}, in_static[3];
	double on_stack[3], *on_heap = malloc(100 * sizeof *on_heap), unrelated[3] = {0};
	FILE *file = tmpfile();
	if (!file || !on_heap)
		return 1;
	dmdprof_input(a, sizeof a);
	dmdprof_begin("overwritten");
	for (int i = 0; i < 3; i++)
		in_static[i] = on_stack[i] = on_heap[97 + i] = a[i] * 2;
	double s = 0;
	if (sscanf("1 2 3", "%lf %lf %lf", on_stack, on_stack + 1, on_stack + 2) == 3)
		s += total(on_stack);
	erand48((unsigned short *)in_static);
	setvbuf(file, (char *)on_heap, _IOFBF, 100 * sizeof *on_heap);
	s += strtod("1.5", (char **)unrelated) + total(in_static);
	dmdprof_output(&s, sizeof s);
	dmdprof_end("overwritten");
	return s < 0;
}
