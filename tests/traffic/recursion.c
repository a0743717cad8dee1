/* Plain recursion: each of N calls writes 4 KiB of variables, calls the next one, and reads its variables again.

   The variables of a call die when it returns, so on the way back each call finds its own on top of what is live. But
   j calls have returned by then, and their places are free above: as with a stack of N arrays, a memory of m times 4
   KiB fetches N - m times 4 KiB. */
#include <stdio.h>

static __attribute__((noinline)) long down(int left) {
    volatile long data[512];
    long sum = 0;
    for (int i = 0; i < 512; i++) data[i] = left + i;
    if (left > 1) sum = down(left - 1);
    for (int i = 0; i < 512; i++) sum += data[i];
    return sum;
}

int main(void) {
    printf("%ld\n", down(N));
    return 0;
}
