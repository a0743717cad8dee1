/* Frames that end in other ways than by a return: a jump to another function, `longjmp`, handlers of signals on a stack
 * of their own, exceptions. What `leaf` writes tells where it was called. Names have no types, and each function has
 * something to do after its last call, so that it is still there. */
#include <csetjmp>
#include <csignal>

#define FUNCTION extern "C" __attribute__((noinline))

static volatile char bytes[1000];

FUNCTION void leaf(int number) {
    for (int i = 0; i < number; i++)
        bytes[i] = 1;
}

static void last() {
    bytes[0] = 2;
}

/* Takes over the frame of `jumps`. */
FUNCTION void jumped_to(int number) {
    leaf(number);
    last();
}

FUNCTION void jumps(int number) {
    last();
    __attribute__((musttail)) return jumped_to(number);
}

FUNCTION void calls_what_jumps() {
    jumps(1);
    leaf(2);
    last();
}

static jmp_buf out;

FUNCTION void goes_down(int depth) {
    if (depth == 0) {
        leaf(3);
        longjmp(out, 1);
    }
    goes_down(depth - 1);
    last();
}

FUNCTION void comes_after() {
    leaf(4);
    last();
}

FUNCTION void is_jumped_to() {
    if (setjmp(out) == 0)
        goes_down(2);
    comes_after();
    leaf(5);
    last();
}

FUNCTION void in_handler() {
    leaf(6);
    last();
}

FUNCTION void handler(int) {
    in_handler();
    leaf(7);
    last();
}

FUNCTION void is_interrupted() {
    raise(SIGUSR1);
    leaf(8);
    last();
}

static sigjmp_buf out_of_handler;

FUNCTION void jumps_out(int) {
    leaf(13);
    siglongjmp(out_of_handler, 1);
}

FUNCTION void is_interrupted_for_good(int signal) {
    if (sigsetjmp(out_of_handler, 1) == 0)
        raise(signal);
    comes_after();
    leaf(14);
    last();
}

struct Guard {
    ~Guard();
};

FUNCTION void cleans() {
    leaf(9);
    last();
}

inline Guard::~Guard() {
    cleans();
}

FUNCTION void throws(bool does) {
    leaf(10);
    if (does)
        throw 1;
    last();
}

FUNCTION void is_left(bool does) {
    Guard guard;
    throws(does);
    last();
}

FUNCTION void calls_what_is_left(bool does) {
    is_left(does);
    last();
}

FUNCTION void has_caught() {
    leaf(11);
    last();
}

FUNCTION void catches(bool does) {
    try {
        calls_what_is_left(does);
    } catch (int) {
        has_caught();
    }
    leaf(12);
    last();
}

FUNCTION void goes_on() {
    leaf(100);
    last();
}

static char stack[1 << 16];

int main() {
    calls_what_jumps();
    goes_on();
    is_jumped_to();
    goes_on();
    stack_t other = {};
    other.ss_sp = stack;
    other.ss_size = sizeof stack;
    sigaltstack(&other, nullptr);
    struct sigaction action = {};
    action.sa_handler = handler;
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR1, &action, nullptr);
    is_interrupted();
    goes_on();
    catches(true);
    goes_on();
    action.sa_handler = jumps_out;
    sigaction(SIGUSR1, &action, nullptr);
    is_interrupted_for_good(SIGUSR1);
    action.sa_flags = 0;
    sigaction(SIGUSR2, &action, nullptr);
    is_interrupted_for_good(SIGUSR2);
    goes_on();
    return 0;
}
