/* Common to the programs on which the two machines are compared.
 *
 * The values machine prices the operands of an arithmetic instruction; the memory machine prices loads. They agree when
 * every instruction has one operand, which one load brings straight from memory, and every result goes straight to
 * memory: then each read happens at the same moment in both, what has died has left both stacks, and what lies above is
 * the same 8-byte things in the same order. So no number is copied or kept in a register, no result is read from
 * anywhere but memory, and the loops cannot be shortened: `kernel` is not inlined and its pointers may overlap.
 *
 * Inputs are filled last argument first, elements ascending, which is the order in which the machines put them on the
 * stack. The results are read once more after the region, so that they stay alive to its end. */
#include <math.h>
#include <stdio.h>

#include "../../../runtime/markers/include/dmdprof.h"

#define NOINLINE __attribute__((noinline))

/* Numbers per array, 8 bytes each. */
enum { N = 64 };

static NOINLINE __attribute__((unused)) void fill(double *x) {
    for (int i = 0; i < N; i++)
        x[i] = (double)(i * 7 % 13) - 6.5;
}

static NOINLINE __attribute__((unused)) double checksum(const double *x) {
    double s = 0;
    for (int i = 0; i < N; i++)
        s = s / 2 + x[i];
    return s;
}
