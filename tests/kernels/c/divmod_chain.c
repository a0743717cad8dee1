/* (q, r) = divmod(a, b), then (q + r) + a: one instruction with two results. */
#include "kernel.h"

static long long divmod_chain(long long a, long long b) {
    lldiv_t d = lldiv(a, b);
    long long t = d.quot + d.rem;
    return t + a;
}

int main(int argc, char **argv) {
    long long a = 10, b = 3;
    dmdprof_input(&a, sizeof a);
    dmdprof_input(&b, sizeof b);
    dmdprof_begin("divmod_chain");
    long long u = divmod_chain(a, b);
    dmdprof_output(&u, sizeof u);
    dmdprof_end("divmod_chain");
    show_bytes(argc, argv, &u, sizeof u);
    return 0;
}
