/* Values that go into code which does not follow them. */
#define _DEFAULT_SOURCE
#include <stdarg.h>
#include <stdlib.h>

#include "../../runtime/markers/include/dmdprof.h"

static double sum(int count, ...) {
	va_list list;
	double s = 0;
	va_start(list, count);
	for (int i = 0; i < count; i++)
		s += va_arg(list, double);
	va_end(list);
	return s;
}

int main(void) {
	long in[2] = { 1, 2 };
	double total = 0;
	dmdprof_input(in, sizeof in);
	dmdprof_begin("unfollowed");
	for (int i = 0; i < 3; i++)
		srand48(in[0]);
	total += sum(1, (double)in[1]);
	long seen = in[0];
	__asm__ volatile("" : "+r"(seen));
	dmdprof_output(&total, sizeof total);
	dmdprof_end("unfollowed");
	return total != 2;
}
