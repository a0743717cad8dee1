/* r = a and b with a false: a branch on an input; b is never read. */
#include "kernel.h"

static _Bool bool_and(const _Bool *a, const _Bool *b) {
    if (*a)
        return *b;
    return *a;
}

int main(int argc, char **argv) {
    _Bool a = 0, b = 1;
    dmdprof_input(&a, sizeof a);
    dmdprof_input(&b, sizeof b);
    dmdprof_begin("bool_and");
    _Bool r = bool_and(&a, &b);
    dmdprof_output(&r, sizeof r);
    dmdprof_end("bool_and");
    show_bytes(argc, argv, &r, sizeof r);
    return 0;
}
