/* Instructions of aarch64, each in a function of its own that accesses nothing else. They take `from` in `x0` and `to`
 * in `x1`. */
static char from[256] __attribute__((aligned(64))), to[256] __attribute__((aligned(64)));

#define ALL(DO)                                                                                                        \
    DO(load, "ldr x2, [x0]")                                                                                           \
    DO(load_two, "ldr x2, [x0]\n ldr x3, [x0, #8]")                                                                    \
    DO(load_pair, "ldp x2, x3, [x0]")                                                                                  \
    DO(load_pair_of_4, "ldp w2, w3, [x0]")                                                                             \
    DO(load_pair_of_16, "ldp q0, q1, [x0]")                                                                            \
    DO(load_pair_across_lines, "ldp x2, x3, [x0, #56]")                                                                \
    DO(store_pair, "stp x2, x3, [x1]")                                                                                 \
    DO(store_pairs, "stp x2, x3, [x1], #16\n stp x2, x3, [x1], #16")                                                   \
    DO(store_pair_of_16, "stp q0, q1, [x1]")                                                                           \
    DO(load_16, "ldr q0, [x0]")                                                                                        \
    DO(load_16_across_lines, "ldur q0, [x0, #57]")                                                                     \
    DO(store_16, "str q0, [x1]")                                                                                       \
    DO(load_64, "ld1 {v0.16b-v3.16b}, [x0]")                                                                           \
    DO(store_64, "st1 {v0.16b-v3.16b}, [x1]")                                                                          \
    DO(load_lane, "ld1 {v0.s}[1], [x0]")                                                                               \
    DO(atomic_add, ".arch armv8.1-a\n ldadd x2, x3, [x1]")                                                             \
    DO(atomic_exchange, ".arch armv8.1-a\n swpal x2, x3, [x1]")                                                        \
    DO(atomic_exchange_pair, ".arch armv8.1-a\n casp x2, x3, x4, x5, [x1]")

#define DEFINE(name, code)                                                                                             \
    __attribute__((noinline, noclone)) static void name(void) {                                                        \
        register const char *source __asm__("x0") = from;                                                              \
        register char *target __asm__("x1") = to;                                                                      \
        __asm__ volatile(code                                                                                          \
                         : "+r"(source), "+r"(target)                                                                  \
                         :                                                                                             \
                         : "x2", "x3", "x4", "x5", "v0", "v1", "v2", "v3", "cc", "memory");                            \
    }

ALL(DEFINE)

#define CALL(name, code) name();

int main(void) {
    ALL(CALL)
    return 0;
}
