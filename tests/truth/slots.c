/* Lifetimes of stack slots: the end of a function and the end of a scope.
 * Live before the kernel: the hot word.
 * `slot` writes and reads M words of its own: depths 8M-7 .. 8M each. `kernel` reads the hot word after slot's return and
 * after the end of a scope with M words of which it reads the first (depths 8M-7 .. 8M). The hot word is read at depth
 * 1 .. 8 if dead slots left the stack (hints), at 8M+1 .. 8M+8 if nothing leaves (none). */
#include "truth.h"

#ifndef M
#define M 32
#endif
#ifndef ROUNDS
#define ROUNDS 5
#endif

NOINLINE uint64_t slot(uint64_t x) {
    word local[M];
    uint64_t sum = 0;
    for (size_t i = 0; i < M; i++)
        local[i] = x + i;
    for (size_t i = 0; i < M; i++)
        sum += local[i];
    return sum;
}

NOINLINE uint64_t kernel(word *hot) {
    uint64_t sum = 0;
    for (size_t round = 0; round < ROUNDS; round++) {
        sum += slot(round);
        sum += *hot;
        {
            word scope[M];
            for (size_t i = 0; i < M; i++)
                scope[i] = i;
            sum += scope[0];
        }
        sum += *hot;
    }
    return sum;
}

int main(void) {
    word *hot = must(malloc(8));
    *hot = 7;
    uint64_t sum = kernel(hot);
    printf("%" PRIu64 "\n", sum);
    return 0;
}
