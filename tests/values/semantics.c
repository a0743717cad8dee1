/* What the rules of the values model say about C that no golden kernel has. Each region's cost is worked out beside it, at one
 * byte per value. */
#include <math.h>
#include <string.h>

#include "../../runtime/markers/include/dmdprof.h"

static double in[4] = { 4, 3, 2, 1 };
static char text[8] = "abcabc";
static double out;

static void start(const char *name) {
	dmdprof_input(in, sizeof in);
	dmdprof_begin(name);
}

static void stop(const char *name) {
	dmdprof_output(&out, sizeof out);
	dmdprof_end(name);
}

int main(void) {
	/* cost fma 7, cost fma 5 as one: inputs 0, 1, 2, the last on top. The product reads 0 at depth 3 and 1 at 2: 2 + 2, and both
	 * die. The sum reads the product at 1 and 2 at 2: 1 + 2. As one instruction: depths 3, 2, 1: 2 + 2 + 1. */
	start("fma");
	out = fma(in[0], in[1], in[2]);
	stop("fma");

	/* cost condition 2: one compare of one value on top (1), one read of its result (1); the value dies. */
	start("condition");
	if (in[0] > 1)
		out = 1;
	stop("condition");

	/* cost index 3: in[0] lies at 2 below the element that is chosen: 2; the difference, just made, is read as an index: 1. The element
	 * is an output, and moved, not read. */
	start("index");
	long i = (long)in[0] - 3;
	out = in[i];
	stop("index");

	/* cost twice 2: one instruction reads one value twice, each time at depth 1. */
	start("twice");
	out = in[0] * in[0];
	stop("twice");

	/* cost library 5: strlen looks at three characters at depths 3, 2, 1, each for the last time, and at the end, a constant:
	 * 2 + 2 + 1. */
	dmdprof_input(text, 4);
	dmdprof_begin("library");
	text[3] = 0;
	out = (double)strlen(text);
	dmdprof_output(&out, sizeof out);
	dmdprof_end("library");

	/* cost constant 0: nothing depends on an input. */
	dmdprof_input(in, sizeof in);
	dmdprof_region("constant") {
		out = sqrt(2.0) * 3;
	}
	return 0;
}
