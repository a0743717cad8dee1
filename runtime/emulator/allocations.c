/* Loaded before the program's own libraries, where it runs under the emulator: tells the plugin which blocks of memory
 * the program is given and gives back. Each function calls the next of its name and then says what came of it, by a
 * message whose address it stores in the message itself: the plugin knows the instruction that does (`dmdprof_tell`).
 * Only the outermost function says something, as `operator new` calls `malloc`. Functions that no later library has are
 * those of the C library. Without a header of the C library, so that it builds anywhere. */

typedef unsigned long size;

/* Numbers of `Call` in `abi/src/call.rs`. */
enum { ALLOC = 1, FREE = 3, REALLOC = 4 };
/* `emulated::SYSTEM_CALL`. */
enum { SYSTEM_CALL = 0x444d44 };

struct message {
    struct message *self;
    size call, a, b, c;
};

extern void *dlsym(void *, const char *) __attribute__((weak));
extern int *__errno_location(void) __attribute__((weak));
#define NEXT ((void *)-1L)

__attribute__((visibility("hidden"))) void dmdprof_tell(struct message *);
__asm__(".text\n"
        ".hidden dmdprof_tell\n"
        ".globl dmdprof_tell\n"
        ".type dmdprof_tell, @function\n"
        "dmdprof_tell:\n"
        ".cfi_startproc\n"
        "    mov %rdi, (%rdi)\n"
        "    ret\n"
        ".cfi_endproc\n"
        ".size dmdprof_tell, . - dmdprof_tell\n");

/* Frame of the outermost function that runs. */
static __thread char *outermost __attribute__((tls_model("initial-exec")));
static int is_known;

#define FRAME ((char *)__builtin_frame_address(0))

/* Whether a function with this frame is the outermost. One that is further out than that has left it by an exception,
 * as `operator new` does, or by `longjmp`. */
static int enters(char *frame) {
    if (outermost && frame < outermost)
        return 0;
    outermost = frame;
    return 1;
}

static void leaves(int is_outermost) {
    if (is_outermost)
        outermost = 0;
}

/* Says where messages come from, in a system call that no kernel has. */
static void announce(void) {
    size result, number = SYSTEM_CALL;
    is_known = 1;
    __asm__ volatile("syscall" : "=a"(result) : "0"(number), "D"(dmdprof_tell) : "rcx", "r11", "memory");
}

static void tell(size call, size a, size b, size c) {
    struct message message = {0, call, a, b, c};
    if (!is_known)
        announce();
    dmdprof_tell(&message);
    /* The plugin reads it. */
    __asm__ volatile("" : : "r"(&message) : "memory");
}

/* Blocks for the dynamic linker, which may allocate while it looks for the next function. */
static char early[4096] __attribute__((aligned(16)));
static size early_used;

static void *early_block(size bytes) {
    size start = early_used;
    if (bytes > sizeof early - start)
        return 0;
    early_used = (start + bytes + 15) & ~15UL;
    return early + start;
}

static int is_early(const void *block) {
    return (const char *)block >= early && (const char *)block < early + sizeof early;
}

static int looks;

static void *next(void **known, const char *name) {
    if (!*known && dlsym) {
        looks++;
        *known = dlsym(NEXT, name);
        looks--;
    }
    return *known;
}

#define FIND(type, name)                                                                                               \
    static void *known;                                                                                                \
    __typeof__(type) *real = (__typeof__(type) *)next(&known, name)

/* An allocation by the next function of its name: `CALL` is made with `real`. */
#define ALLOCATES(type, name, bytes, call)                                                                             \
    FIND(type, name);                                                                                                  \
    void *block;                                                                                                       \
    if (!real)                                                                                                         \
        return 0;                                                                                                      \
    int is_outermost = enters(FRAME);                                                                                  \
    block = call;                                                                                                      \
    leaves(is_outermost);                                                                                              \
    if (is_outermost && block)                                                                                         \
        tell(ALLOC, (size)block, bytes, 0);                                                                            \
    return block

void *malloc(size bytes) {
    if (looks)
        return early_block(bytes);
    ALLOCATES(void *(size), "malloc", bytes, real(bytes));
}

void *calloc(size count, size one) {
    if (looks)
        return early_block(count * one);
    ALLOCATES(void *(size, size), "calloc", count * one, real(count, one));
}

void *memalign(size alignment, size bytes) {
    ALLOCATES(void *(size, size), "memalign", bytes, real(alignment, bytes));
}

void *aligned_alloc(size alignment, size bytes) {
    ALLOCATES(void *(size, size), "aligned_alloc", bytes, real(alignment, bytes));
}

void *valloc(size bytes) {
    ALLOCATES(void *(size), "valloc", bytes, real(bytes));
}

int posix_memalign(void **block, size alignment, size bytes) {
    FIND(int (void **, size, size), "posix_memalign");
    int error;
    if (!real)
        return 12;
    int is_outermost = enters(FRAME);
    error = real(block, alignment, bytes);
    leaves(is_outermost);
    if (is_outermost && !error)
        tell(ALLOC, (size)*block, bytes, 0);
    return error;
}

/* Before the next function runs, as another thread may get the block at once. */
void free(void *block) {
    FIND(void (void *), "free");
    if (!block || is_early(block) || !real)
        return;
    int is_outermost = enters(FRAME);
    if (is_outermost)
        tell(FREE, (size)block, 0, 0);
    real(block);
    leaves(is_outermost);
}

void *realloc(void *block, size bytes) {
    FIND(void *(void *, size), "realloc");
    void *moved;
    if (is_early(block)) {
        char *to = malloc(bytes);
        for (size i = 0; to && i < bytes && (char *)block + i < early + sizeof early; i++)
            to[i] = ((char *)block)[i];
        return to;
    }
    if (!real)
        return 0;
    int is_outermost = enters(FRAME);
    moved = real(block, bytes);
    leaves(is_outermost);
    if (is_outermost)
        tell(REALLOC, (size)block, (size)moved, bytes);
    return moved;
}

void *reallocarray(void *block, size count, size one) {
    size bytes;
    if (__builtin_mul_overflow(count, one, &bytes)) {
        if (__errno_location)
            *__errno_location() = 12;
        return 0;
    }
    return realloc(block, bytes);
}

/* C++'s `operator new`, plain and of arrays: with an alignment, and without exceptions. */
#define NEW(symbol)                                                                                                    \
    void *symbol(size bytes) {                                                                                         \
        ALLOCATES(void *(size), #symbol, bytes, real(bytes));                                                       \
    }
#define NEW_2(symbol)                                                                                                  \
    void *symbol(size bytes, size other) {                                                                             \
        ALLOCATES(void *(size, size), #symbol, bytes, real(bytes, other));                                          \
    }
#define NEW_3(symbol)                                                                                                  \
    void *symbol(size bytes, size alignment, size other) {                                                             \
        ALLOCATES(void *(size, size, size), #symbol, bytes, real(bytes, alignment, other));                         \
    }

NEW(_Znwm)
NEW(_Znam)
NEW_2(_ZnwmSt11align_val_t)
NEW_2(_ZnamSt11align_val_t)
NEW_2(_ZnwmRKSt9nothrow_t)
NEW_2(_ZnamRKSt9nothrow_t)
NEW_3(_ZnwmSt11align_val_tRKSt9nothrow_t)
NEW_3(_ZnamSt11align_val_tRKSt9nothrow_t)
