/* Calls, of processors that leave the return address in a register. What `leaf` writes tells where it was called; each
 * function has something to do after its last call, so that it is still there, but for `jumps`. */
#include <setjmp.h>
#include <signal.h>

#define FUNCTION __attribute__((noinline))

static volatile char bytes[1000];

FUNCTION void leaf(int number) {
    for (int i = 0; i < number; i++)
        bytes[i] = 1;
}

static void last(void) {
    bytes[0] = 2;
}

FUNCTION void jumped_to(int number) {
    leaf(number);
    last();
}

FUNCTION void jumps(int number) {
    last();
    jumped_to(number);
}

FUNCTION void repeats(int depth) {
    leaf(1);
    if (depth > 0)
        repeats(depth - 1);
    leaf(2);
    last();
}

FUNCTION void through_a_pointer(void (*function)(int)) {
    function(4);
    last();
}

static jmp_buf out;

FUNCTION void goes_down(int depth) {
    if (depth == 0) {
        leaf(5);
        longjmp(out, 1);
    }
    goes_down(depth - 1);
    last();
}

FUNCTION void comes_after(void) {
    leaf(6);
    last();
}

FUNCTION void is_jumped_to(void) {
    for (volatile int times = 0; times < 3; times++) {
        if (setjmp(out) == 0)
            goes_down(1);
        comes_after();
    }
    leaf(7);
    last();
}

FUNCTION void handler(int signal) {
    leaf(8);
    last();
}

FUNCTION void is_interrupted(void) {
    raise(SIGUSR1);
    leaf(9);
    last();
}

int main(void) {
    jumps(10);
    repeats(2);
    through_a_pointer(leaf);
    is_jumped_to();
    signal(SIGUSR1, handler);
    is_interrupted();
    leaf(100);
    return 0;
}
