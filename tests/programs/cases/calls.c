/* One function that is called from a place whose data is near and from one whose data is far, by recursion, and from
 * calls that a longjmp leaves. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#define NEAR 512
#define FAR 20000
#define NOINLINE __attribute__((noinline))

static jmp_buf start;
static volatile long calls;

NOINLINE static long sum(const long *from, long count) {
    long all = 0;
    calls++;
    for (long i = 0; i < count; i++)
        all += from[i];
    return all;
}

NOINLINE static long near(const long *words, int times) {
    long all = 0;
    for (int i = 0; i < times; i++)
        all += sum(words, NEAR);
    return all;
}

NOINLINE static long far(const long *words, int times) {
    long all = 0;
    for (int i = 0; i < times; i++)
        all += sum(words, FAR);
    return all;
}

/* Halves, and halves of halves. */
NOINLINE static long halves(const long *words, long count) {
    if (count <= 64)
        return sum(words, count);
    return halves(words, count / 2) + halves(words + count / 2, count - count / 2);
}

NOINLINE static void leave(const long *words, int depth) {
    if (depth == 0)
        longjmp(start, (int)(sum(words, 64) & 1) + 1);
    leave(words + 8, depth - 1);
    printf("%ld\n", words[0]);
}

int main(void) {
    long *words = malloc(FAR * sizeof *words);
    volatile int left = 0;
    if (!words)
        return 1;
    for (long i = 0; i < FAR; i++)
        words[i] = i * 7 % 11;
    if (setjmp(start) == 0 || left < 100) {
        left++;
        leave(words + 64 * left, 5);
    }
    long all = 0;
    for (int i = 0; i < 30; i++)
        all += near(words, 60) + far(words, 2) + halves(words, FAR);
    printf("%ld, %ld calls\n", all, calls);
    free(words);
    return 0;
}
