/* Loaded before a program's own libraries: writes down where the program is, each time that it has used the processor
 * for a while. Takes from its environment the name of the file to write to, DMDPROF_CLOCK, and gives records in it; what
 * has no room there is counted. For systems that refuse events of the kernel: `cli/src/clock/timer.rs` reads the file.
 *
 * The timer is one of the process, which goes with the program when it is replaced by another: what is started has this
 * library too, and a timer of its own. Without a header of the C library, so that it builds anywhere, and with system
 * calls alone in the signal's handler. */

typedef unsigned long size;
typedef unsigned int word;

/* Records. Each begins with 16 bytes, and bytes behind them are filled up to 16. */
enum {
    /* At this address. */
    SAMPLE = 1,
    /* The process begins to say what it has mapped. */
    BEGINS = 2,
    /* A line of /proc/self/maps, of so many bytes, which follow. */
    MAPPED = 3
};
struct record {
    word kind, process;
    size value;
};
struct log {
    /* Bytes of records, of which those beyond the room are not there. */
    size used;
    size room;
    struct record records[];
};

/* Of processor time, in nanoseconds. The kernel looks at timers when its own clock ticks, a few hundred times a second:
 * with less than that, each tick is a sample, the first one too. */
enum { INTERVAL = 100000 };
enum { SIGNAL = 27, TIMER_CLOCK = 2 };
enum { READ = 0, OPEN = 2, CLOSE = 3, MMAP = 9, SIGACTION = 13, YIELD = 24, GETPID = 39, TIMER_CREATE = 222, TIMER_SET = 223 };

static long call(long number, long a, long b, long c, long d, long e, long f) {
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

static struct log *log;
static word process;

/* What is mapped and can be executed, as it was when it was last looked at. */
enum { MOST = 1024, AGAIN = 64 };
static struct range {
    size start, end;
} known[MOST];
static int ranges;
/* Samples until it is looked at again, if code lies outside: that of no file is never found. */
static int patience;
static int is_looking;

static void put(word kind, size value, const char *bytes, size count) {
    size whole = (sizeof(struct record) + count + 15) & ~15UL;
    size at = __atomic_fetch_add(&log->used, whole, __ATOMIC_RELAXED);
    struct record *record = (struct record *)((char *)log->records + at);
    if (at + whole > log->room)
        return;
    for (size i = 0; i < count; i++)
        ((char *)(record + 1))[i] = bytes[i];
    record->process = process;
    record->value = value;
    /* A record without a kind was not finished. */
    __atomic_store_n(&record->kind, kind, __ATOMIC_RELEASE);
}

static int is_known(size address) {
    for (int i = 0; i < ranges; i++)
        if (address >= known[i].start && address < known[i].end)
            return 1;
    return 0;
}

static size digits(const char **at) {
    size value = 0;
    for (;; (*at)++) {
        char c = **at;
        int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (digit < 0)
            return value;
        value = value << 4 | (size)digit;
    }
}

/* A line such as `7f00-7f10 r-xp 00001000 fe:01 25 /lib/x.so`, if its code can be executed. */
static void take(const char *line, size count) {
    const char *at = line;
    struct range range;
    range.start = digits(&at);
    at++;
    range.end = digits(&at);
    if (at[0] != ' ' || at[3] != 'x')
        return;
    if (ranges < MOST)
        known[ranges++] = range;
    put(MAPPED, count, line, count);
}

static void look(void) {
    static char text[8192];
    size filled = 0;
    long file = call(OPEN, (long)"/proc/self/maps", 0, 0, 0, 0, 0), got;
    if (file < 0)
        return;
    put(BEGINS, 0, 0, 0);
    ranges = 0;
    while ((got = call(READ, file, (long)(text + filled), (long)(sizeof text - filled), 0, 0, 0)) > 0) {
        size start = 0;
        filled += (size)got;
        for (size i = 0; i < filled; i++)
            if (text[i] == '\n') {
                take(text + start, i - start);
                start = i + 1;
            }
        /* A line longer than any path can make it is left out. */
        if (!start && filled == sizeof text)
            start = filled;
        for (size i = start; i < filled; i++)
            text[i - start] = text[i];
        filled -= start;
    }
    call(CLOSE, file, 0, 0, 0, 0, 0);
}

/* One thread at a time, so that what is mapped stands before the samples that are of it. */
static void tell(size address) {
    while (__atomic_exchange_n(&is_looking, 1, __ATOMIC_ACQUIRE))
        call(YIELD, 0, 0, 0, 0, 0, 0);
    if (!is_known(address)) {
        if (patience > 0) {
            patience--;
        } else {
            look();
            patience = is_known(address) ? 0 : AGAIN;
        }
    }
    put(SAMPLE, address, 0, 0);
    __atomic_store_n(&is_looking, 0, __ATOMIC_RELEASE);
}

/* Where `ucontext_t` of x86-64 has the program counter. */
enum { PROGRAM_COUNTER = 168 };

static void sample(int signal, void *information, void *context) {
    size address = *(size *)((char *)context + PROGRAM_COUNTER);
    (void)signal, (void)information;
    tell(address);
}

__attribute__((visibility("hidden"))) void dmdprof_return(void);
__asm__(".text\n"
        ".hidden dmdprof_return\n"
        ".globl dmdprof_return\n"
        ".type dmdprof_return, @function\n"
        "dmdprof_return:\n"
        "    mov $15, %eax\n"
        "    syscall\n"
        ".size dmdprof_return, . - dmdprof_return\n");

/* As the kernel has it. */
struct action {
    void (*handler)(int, void *, void *);
    size flags;
    void (*restorer)(void);
    size mask;
};
/* With information, a restorer, on the stack for signals if there is one, and system calls go on. */
enum { FLAGS = 0x4 | 0x04000000 | 0x08000000 | 0x10000000 };
struct event {
    size value;
    int signal, notify;
    char rest[48];
};
struct times {
    size every_seconds, every, first_seconds, first;
};

static void begin(void) {
    struct action action = {sample, FLAGS, dmdprof_return, 0};
    struct event event = {0, SIGNAL, 0, {0}};
    struct times times = {0, INTERVAL, 0, INTERVAL};
    int timer = 0;
    process = (word)call(GETPID, 0, 0, 0, 0, 0, 0);
    is_looking = 0;
    patience = 0;
    look();
    if (call(SIGACTION, SIGNAL, (long)&action, 0, 8, 0, 0) < 0)
        return;
    if (call(TIMER_CREATE, TIMER_CLOCK, (long)&event, (long)&timer, 0, 0, 0) < 0)
        return;
    call(TIMER_SET, timer, 0, (long)&times, 0, 0, 0);
}

/* Processes that a program makes of itself have no timer of their own yet. */
extern int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void *) __attribute__((weak));

/* Loaders give constructors what `main` gets. */
__attribute__((constructor)) static void loaded(int count, char **arguments, char **environment) {
    static const char name[] = "DMDPROF_CLOCK=";
    const char *path = 0;
    long file, mapped;
    size head[2] = {0, 0};
    (void)count, (void)arguments;
    for (; environment && *environment && !path; environment++) {
        size i = 0;
        while (name[i] && (*environment)[i] == name[i])
            i++;
        path = name[i] ? 0 : *environment + i;
    }
    if (!path || (file = call(OPEN, (long)path, 2, 0, 0, 0, 0)) < 0)
        return;
    if (call(READ, file, (long)head, sizeof head, 0, 0, 0) == sizeof head) {
        mapped = call(MMAP, 0, (long)(sizeof head + head[1]), 3, 1, file, 0);
        if (mapped > 0 || mapped < -4095)
            log = (struct log *)mapped;
    }
    call(CLOSE, file, 0, 0, 0, 0, 0);
    if (!log)
        return;
    if (__register_atfork)
        __register_atfork(0, 0, begin, 0);
    begin();
}
