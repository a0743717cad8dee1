/* Declarations that contradict each other, by name. */
#include <string.h>

#include "../../runtime/markers/include/dmdprof.h"

int main(int argc, char **argv) {
	double in[4] = { 1, 2, 3, 4 }, out = 0;
	const char *what = argc > 1 ? argv[1] : "";
	if (!strcmp(what, "never"))
		return 0;
	if (!strcmp(what, "lonely end")) {
		dmdprof_end("region");
		return 0;
	}
	if (!strcmp(what, "late output"))
		dmdprof_output(&out, sizeof out);
	dmdprof_input(in, sizeof in);
	if (!strcmp(what, "overlap"))
		dmdprof_input(in + 3, sizeof(double));
	dmdprof_begin("open");
	out = in[0] + in[1];
	if (!strcmp(what, "open"))
		return 0;
	if (!strcmp(what, "crossed")) {
		dmdprof_begin("inner");
		dmdprof_end("open");
		dmdprof_end("inner");
	}
	dmdprof_end("open");
	return 0;
}
