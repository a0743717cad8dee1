/* Instructions, each in a function of its own that accesses nothing else but, when it returns, its return address. They
 * take `from` in `rsi`, `to` in `rdi` and 4,096 in `rcx`. */
#define PAGE 4096

static char from[2 * PAGE] __attribute__((aligned(PAGE))), to[2 * PAGE] __attribute__((aligned(PAGE)));

#define ALL(DO)                                                                                                        \
    DO(copy_bytes, "jmp 1f; 1: rep movsb")                                                                             \
    DO(copy_bytes_within_a_block, "mov %%rcx, %%rdx; rep movsb")                                                       \
    DO(copy_words, "mov $512, %%ecx; jmp 1f; 1: rep movsq")                                                            \
    DO(copy_unaligned, "add $3, %%rsi; add $5, %%rdi; jmp 1f; 1: rep movsb")                                           \
    DO(copy_downwards, "lea 63(%%rsi), %%rsi; lea 63(%%rdi), %%rdi; mov $64, %%ecx; std; rep movsb; cld")              \
    DO(copy_nothing, "xor %%ecx, %%ecx; rep movsb")                                                                    \
    DO(copy_one_byte, "movsb")                                                                                         \
    DO(fill_bytes, "xor %%eax, %%eax; jmp 1f; 1: rep stosb")                                                           \
    DO(fill_words, "xor %%eax, %%eax; mov $512, %%ecx; jmp 1f; 1: rep stosq")                                          \
    DO(scan_bytes, "xor %%eax, %%eax; jmp 1f; 1: repe scasb")                                                          \
    DO(compare_bytes, "repe cmpsb")                                                                                    \
    DO(load_bytes, "jmp 1f; 1: rep lodsb")                                                                             \
    DO(load_across_lines, "mov 60(%%rsi), %%rax")                                                                      \
    DO(load_across_pages, "mov 4092(%%rsi), %%rax")                                                                    \
    DO(load_and_store_10, "fldt (%%rsi); fstpt (%%rdi)")                                                               \
    DO(load_16, "movdqa 16(%%rsi), %%xmm0")                                                                            \
    DO(load_16_across_lines, "movdqu 56(%%rsi), %%xmm0")                                                               \
    DO(load_16_across_pages, "movdqu 4089(%%rsi), %%xmm0")                                                             \
    DO(load_16_to_add, "paddd (%%rsi), %%xmm0")                                                                        \
    DO(load_two_halves, "movlps (%%rsi), %%xmm0; movhps 8(%%rsi), %%xmm0")                                             \
    DO(store_16, "movups %%xmm0, 8(%%rdi)")                                                                            \
    DO(store_16_past_caches, "movntdq %%xmm0, (%%rdi)")                                                                \
    DO(load_32, "vmovdqu 16(%%rsi), %%ymm0")                                                                           \
    DO(load_32_across_lines, "vmovdqu 41(%%rsi), %%ymm0")                                                              \
    DO(store_32, "vmovdqu %%ymm0, 16(%%rdi)")                                                                          \
    DO(add, "addq $1, (%%rdi)")                                                                                        \
    DO(set_bit, "btsl $1, (%%rdi)")                                                                                    \
    DO(atomic_add, "mov $1, %%eax; lock xadd %%rax, (%%rdi)")                                                          \
    DO(atomic_add_4, "mov $1, %%eax; lock xaddl %%eax, (%%rdi)")                                                       \
    DO(atomic_increment, "lock incl (%%rdi)")                                                                          \
    DO(atomic_exchange, "xchg %%rax, (%%rdi)")                                                                         \
    DO(atomic_exchange_if_same, "xor %%eax, %%eax; lock cmpxchg %%rcx, 64(%%rdi)")                                     \
    DO(atomic_exchange_if_other, "xor %%eax, %%eax; lock cmpxchg %%rcx, 64(%%rdi)")                                    \
    DO(atomic_exchange_16, "lock cmpxchg16b (%%rdi)")                                                                  \
    DO(push_and_pop, "push %%rax; pop %%rax")                                                                          \
    DO(push_what_is_loaded, "push (%%rsi); pop %%rax")                                                                 \
    DO(call_and_return, "call 1f; jmp 2f; 1: ret; 2:")                                                                 \
    DO(call_what_is_loaded, "lea 1f(%%rip), %%rax; mov %%rax, (%%rdi); call *(%%rdi); jmp 2f; 1: ret; 2:")             \
    DO(no_access, "prefetcht0 (%%rsi); nopw (%%rsi); lea (%%rsi), %%rax")                                              \
    DO(system_call, "mov $63, %%eax; syscall")

#define DEFINE(name, code)                                                                                             \
    __attribute__((noinline)) void name(void) {                                                                        \
        const char *source = from;                                                                                     \
        char *target = to;                                                                                             \
        long times = PAGE;                                                                                             \
        __asm__ volatile(code                                                                                          \
                         : "+S"(source), "+D"(target), "+c"(times)                                                     \
                         :                                                                                             \
                         : "rax", "rdx", "r11", "xmm0", "cc", "memory");                                               \
    }

ALL(DEFINE)

#define CALL(name, code) name();

int main(void) {
    ALL(CALL)
    return 0;
}
