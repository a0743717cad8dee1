// Writes numbered records in one of many situations: `writer SITUATION [NUMBERS...]`.
#define _GNU_SOURCE
#include "fast.h"
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

extern int __dmdprof_v5_sigaction__link_with_dmdprof_cc(int, const struct sigaction *, struct sigaction *);
extern void (*__dmdprof_v5_signal__link_with_dmdprof_cc(int, void (*)(int)))(int);

static const char in_this_module;

__attribute__((constructor(101))) static void constructor(int argc, char **argv)
{
	// "late": the first hook is to come when nothing is as it was at the start.
	if (argc > 1 && strncmp(argv[1], "late", 4))
		__dmdprof_v5_module__link_with_dmdprof_cc(&in_this_module);
}

static void stream(uint64_t name, uint64_t from, uint64_t to)
{
	for (uint64_t i = from; i < to; i++)
		record(name, i);
}

struct job {
	uint64_t name, count;
};

static void *work(void *argument)
{
	struct job *job = argument;
	stream(job->name, 0, job->count);
	return NULL;
}

static void threads(uint64_t count, uint64_t at_once, uint64_t records)
{
	pthread_t *ids = calloc(count, sizeof *ids);
	struct job *jobs = calloc(count, sizeof *jobs);
	pthread_attr_t small;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	for (uint64_t i = 0; i < count; i++) {
		if (i >= at_once)
			pthread_join(ids[i - at_once], NULL);
		jobs[i] = (struct job){i, records};
		if (pthread_create(&ids[i], &small, work, &jobs[i]))
			abort();
	}
	for (uint64_t i = count > at_once ? count - at_once : 0; i < count; i++)
		pthread_join(ids[i], NULL);
}

// Mappings of this process.
static int mappings(void)
{
	FILE *file = fopen("/proc/self/maps", "r");
	int lines = 0;
	for (int c; file && (c = getc(file)) != EOF;)
		lines += c == '\n';
	if (file)
		fclose(file);
	return lines;
}

static void forks(uint64_t n)
{
	stream(1, 0, n);
	pid_t child = fork();
	if (child == 0) {
		stream(2, 0, n);
		pid_t grandchild = fork();
		if (grandchild == 0) {
			stream(3, 0, n);
			_exit(0);
		}
		stream(2, n, 2 * n);
		waitpid(grandchild, NULL, 0);
		exit(0);
	}
	stream(1, n, 2 * n);
	waitpid(child, NULL, 0);
}

static void hostile(uint64_t n, int before)
{
	if (before) {
		close_range(0, ~0u, 0);
		clearenv();
		if (chdir("/"))
			abort();
	}
	stream(1, 0, n);
	close_range(0, ~0u, 0);
	clearenv();
	if (chdir("/"))
		abort();
	stream(1, n, 2 * n);
	// No descriptor left at all.
	struct rlimit { unsigned long now, max; } none = {0, 0};
	syscall(SYS_setrlimit, 7, &none);
	pthread_t id;
	struct job job = {2, n};
	if (pthread_create(&id, NULL, work, &job))
		abort();
	pthread_join(id, NULL);
}

// --- signals

static volatile uint64_t alarms, profs;
static sigjmp_buf back;

static void on_alarm(int number)
{
	(void)number;
	for (int i = 0; i < 50; i++)
		record(100, alarms++);
}

static void on_prof(int number, siginfo_t *info, void *context)
{
	if (number != SIGPROF || !info || info->si_signo != SIGPROF || !context)
		abort();
	for (int i = 0; i < 50; i++) {
		uint64_t mine = __atomic_fetch_add(&profs, 1, __ATOMIC_RELAXED);
		record(101, mine);
	}
}

static void leave(int number)
{
	(void)number;
	record(100, alarms++);
	siglongjmp(back, 1);
}

static void timer(int which, int microseconds)
{
	struct itimerval every = {{0, microseconds}, {0, microseconds}};
	setitimer(which, &every, NULL);
}

static void storm(uint64_t n)
{
	struct sigaction alarm = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	struct sigaction prof = {.sa_sigaction = on_prof, .sa_flags = SA_RESTART | SA_SIGINFO};
	struct sigaction old;
	__dmdprof_v5_sigaction__link_with_dmdprof_cc(SIGALRM, &alarm, NULL);
	__dmdprof_v5_sigaction__link_with_dmdprof_cc(SIGPROF, &prof, NULL);
	__dmdprof_v5_sigaction__link_with_dmdprof_cc(SIGALRM, NULL, &old);
	if (old.sa_handler != on_alarm)
		abort();
	__dmdprof_v5_sigaction__link_with_dmdprof_cc(SIGALRM, &alarm, &old);
	if (old.sa_handler != on_alarm || !(old.sa_flags & SA_RESTART))
		abort();
	timer(ITIMER_REAL, 70);
	timer(ITIMER_PROF, 90);
	uint64_t written = 0;
	for (; written < n || alarms < 5000 || profs < 250; written += 1000)
		stream(1, written, written + 1000);
	timer(ITIMER_REAL, 0);
	timer(ITIMER_PROF, 0);
	if (__dmdprof_v5_signal__link_with_dmdprof_cc(SIGALRM, SIG_IGN) != on_alarm)
		abort();
	if (__dmdprof_v5_signal__link_with_dmdprof_cc(SIGALRM, on_alarm) != SIG_IGN)
		abort();
	if (__dmdprof_v5_signal__link_with_dmdprof_cc(SIGALRM, SIG_DFL) != on_alarm)
		abort();
	if (__dmdprof_v5_sigaction__link_with_dmdprof_cc(1000, &alarm, NULL) != -1 || __dmdprof_v5_sigaction__link_with_dmdprof_cc(SIGKILL, &alarm, NULL) != -1)
		abort();
	printf("%lu %lu %lu\n", written, alarms, profs);
}

static void jumps(uint64_t n, int alternate)
{
	static char stack[64 << 10];
	stack_t alternate_stack = {.ss_sp = stack, .ss_size = sizeof stack};
	if (alternate)
		sigaltstack(&alternate_stack, NULL);
	struct sigaction action = {.sa_handler = leave, .sa_flags = alternate ? SA_ONSTACK : 0};
	__dmdprof_v5_sigaction__link_with_dmdprof_cc(SIGALRM, &action, NULL);
	static volatile uint64_t i;
	if (sigsetjmp(back, 1) == 0)
		timer(ITIMER_REAL, 150);
	__dmdprof_v5_landed__link_with_dmdprof_cc();
	while (i < n) {
		record(1, i);
		i = i + 1;
	}
	timer(ITIMER_REAL, 0);
	signal(SIGALRM, SIG_IGN);
	printf("%lu\n", alarms);
}

static void fork_in_handler(int number)
{
	(void)number;
	record(100, alarms++);
	if (fork() == 0)
		record(200, 0);
}

static void handler_forks(void)
{
	__dmdprof_v5_signal__link_with_dmdprof_cc(SIGUSR1, fork_in_handler);
	stream(1, 0, 10);
	pid_t self = getpid();
	raise(SIGUSR1);
	if (getpid() != self) {
		stream(200, 1, 10);
		_exit(0);
	}
	stream(1, 10, 20);
	while (wait(NULL) > 0)
		;
}

// --- registers

static void registers(uint64_t rounds)
{
	for (uint64_t round = 0; round < rounds; round++) {
		uint64_t cursor, changed;
		__asm__ volatile(
		    "push %%rbx; push %%rbp; push %%r12; push %%r13; push %%r14; push %%r15\n"
		    "mov $1, %%ebx; mov $2, %%ebp; mov $3, %%r12d; mov $4, %%r13d; mov $5, %%r14d; mov $6, %%r15d\n"
		    "mov $7, %%ecx; mov $8, %%edx; mov $9, %%esi; mov $24, %%edi; mov $10, %%r8d; mov $11, %%r9d; mov $12, %%r10d\n"
		    "call *__dmdprof_v5_reserve__link_with_dmdprof_cc@GOTPCREL(%%rip)\n"
		    "xor %%r11d, %%r11d\n"
		    "sub $1, %%rbx; or %%rbx, %%r11; sub $2, %%rbp; or %%rbp, %%r11; sub $3, %%r12; or %%r12, %%r11\n"
		    "sub $4, %%r13; or %%r13, %%r11; sub $5, %%r14; or %%r14, %%r11; sub $6, %%r15; or %%r15, %%r11\n"
		    "sub $7, %%rcx; or %%rcx, %%r11; sub $8, %%rdx; or %%rdx, %%r11; sub $9, %%rsi; or %%rsi, %%r11\n"
		    "sub $24, %%rdi; or %%rdi, %%r11; sub $10, %%r8; or %%r8, %%r11; sub $11, %%r9; or %%r9, %%r11\n"
		    "sub $12, %%r10; or %%r10, %%r11\n"
		    "pop %%r15; pop %%r14; pop %%r13; pop %%r12; pop %%rbp; pop %%rbx\n"
		    "mov %%r11, %%rdx\n"
		    : "=a"(cursor), "=&d"(changed)
		    :
		    : "rcx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4",
		      "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
		if (changed)
			abort();
		struct ring *ring = *(struct ring *volatile *)&__dmdprof_v5_ring__link_with_dmdprof_cc;
		uint64_t *words = (uint64_t *)cursor;
		words[0] = 0x7ff8;
		words[1] = 1;
		words[2] = round;
		__atomic_store_n(&ring->cursor, cursor + 24, __ATOMIC_RELEASE);
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	uint64_t a = argc > 2 ? strtoull(argv[2], NULL, 0) : 0;
	uint64_t b = argc > 3 ? strtoull(argv[3], NULL, 0) : 0;
	uint64_t c = argc > 4 ? strtoull(argv[4], NULL, 0) : 0;
	if (!strcmp(what, "one"))
		stream(1, 0, a);
	else if (!strcmp(what, "threads"))
		threads(a, b, c);
	else if (!strcmp(what, "short")) {
		int before = mappings();
		threads(a, b, c);
		printf("%d\n", mappings() - before);
	} else if (!strcmp(what, "fork"))
		forks(a);
	else if (!strcmp(what, "rawfork")) {
		stream(1, 0, a);
		if (syscall(SYS_fork) == 0) {
			stream(2, 0, b);
			_exit(0);
		}
		wait(NULL);
	} else if (!strcmp(what, "vfork")) {
		stream(1, 0, a);
		pid_t child = vfork();
		if (child == 0) {
			stream(1, a, 2 * a);
			_exit(0);
		}
		waitpid(child, NULL, 0);
		stream(1, 2 * a, 3 * a);
	} else if (!strcmp(what, "abort")) {
		stream(1, 0, a);
		abort();
	} else if (!strcmp(what, "_exit")) {
		stream(1, 0, a);
		_exit(3);
	} else if (!strcmp(what, "hostile"))
		hostile(a, 0);
	else if (!strcmp(what, "late-hostile"))
		hostile(a, 1);
	else if (!strcmp(what, "storm"))
		storm(a);
	else if (!strcmp(what, "jumps"))
		jumps(a, 0);
	else if (!strcmp(what, "alternate-jumps"))
		jumps(a, 1);
	else if (!strcmp(what, "handler-forks"))
		handler_forks();
	else if (!strcmp(what, "registers"))
		registers(a);
	else if (!strcmp(what, "done")) {
		stream(1, 0, a);
		if (write(1, "done", 4) != 4)
			return 1;
	} else
		return 2;
	return 0;
}
