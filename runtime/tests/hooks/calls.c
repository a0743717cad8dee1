// Calls library functions and the hook for each as the instrumentation would, and prints the events that must follow.
// Only numbers are printed: `kind operand...`, kinds as in `EventKind`.
#define _GNU_SOURCE
#include "fast.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { READ = 0xd1, WRITE, COPY, ALLOC, FREE, FREE_UNKNOWN, RELOCATE, INPUT, BEGIN, END, OUTPUT, MAPPED };

static const char site;

static void expect(int kind, int operands, ...)
{
	va_list list;
	va_start(list, operands);
	printf("%d", kind);
	for (int i = 0; i < operands; i++)
		printf(" %lu", va_arg(list, uint64_t));
	printf("\n");
	va_end(list);
}

#define U(x) ((uint64_t)(x))
#define CALL(number, a, b, c, d) __dmdprof_v5_call__link_with_dmdprof_cc(&site, number, U(a), U(b), U(c), U(d))
#define E2(kind, a) expect(kind, 1, U(a))
#define E3(kind, a, b) expect(kind, 2, U(a), U(b))
#define E4(kind, a, b, c) expect(kind, 3, U(a), U(b), U(c))
#define E5(kind, a, b, c, d) expect(kind, 4, U(a), U(b), U(c), U(d))

static void heap(void)
{
	char *p = malloc(100);
	CALL(1, p, 100, 0, 0);
	E3(ALLOC, p, 100);
	char *q = calloc(10, 7);
	CALL(2, q, 10, 7, 0);
	E3(ALLOC, q, 70);
	CALL(3, p, 0, 0, 0);
	E3(FREE, p, 100);
	free(p);
	CALL(3, 0, 0, 0, 0); // free(NULL)
	CALL(1, 0, 100, 0, 0); // malloc failed
	CALL(2, 0, -1, -1, 0);

	char *zero = malloc(0);
	CALL(1, zero, 0, 0, 0);
	CALL(3, zero, 0, 0, 0);
	free(zero);

	CALL(3, 0x1234560, 0, 0, 0); // never seen
	E2(FREE_UNKNOWN, 0x1234560);

	uintptr_t old = (uintptr_t)q;
	char *r = realloc(q, 100000);
	CALL(4, old, r, 100000, 0);
	E5(RELOCATE, old, 70, r, 100000);
	old = (uintptr_t)r;
	r = realloc(r, 50);
	CALL(4, old, r, 50, 0);
	E5(RELOCATE, old, 100000, r, 50);
	CALL(4, r, 0, -100, 0); // failed: the old block stays
	CALL(3, r, 0, 0, 0);
	E3(FREE, r, 50);
	free(r);
	r = realloc(NULL, 33);
	CALL(4, 0, r, 33, 0);
	E3(ALLOC, r, 33);
	old = (uintptr_t)r;
	r = realloc(r, 0);
	CALL(4, old, r, 0, 0);
	E3(FREE, old, 33);
	CALL(4, 0x7654320, 0x7654320, 8, 0); // unknown block
	E2(FREE_UNKNOWN, 0x7654320);
	E3(ALLOC, 0x7654320, 8);
	CALL(4, 0x7654320, 0x7654360, 0, 0); // a null-sized block that is not null
	E3(FREE, 0x7654320, 8);
	CALL(4, 0x7654360, 0x7654320, 16, 0);
	E3(ALLOC, 0x7654320, 16);
	CALL(10, 0x7654320, 0x7654400, 3, 5);
	E5(RELOCATE, 0x7654320, 16, 0x7654400, 15);
	CALL(10, 0x7654400, 0, -1, -1);
	CALL(3, 0x7654400, 0, 0, 0);
	E3(FREE, 0x7654400, 15);

	void *aligned;
	int status = posix_memalign(&aligned, 64, 200);
	CALL(5, status, &aligned, 200, 0);
	E3(ALLOC, aligned, 200);
	CALL(5, 12, &aligned, 200, 0);
	CALL(8, aligned, 200, 0, 0);
	E3(FREE, aligned, 200);
	free(aligned);
	CALL(8, 0x1111110, 24, 0, 0);
	E3(FREE, 0x1111110, 24);
	CALL(8, 0, 24, 0, 0);

	CALL(1, 0x2222220, 10, 0, 0);
	E3(ALLOC, 0x2222220, 10);
	CALL(9, 0x2222220, 10, 0x3333330, 20);
	E5(RELOCATE, 0x2222220, 10, 0x3333330, 20);
	CALL(9, 0x3333330, 20, 0, 40); // failed
	CALL(9, 0x4444440, 5, 0x4444440, 6); // unknown to the table, but told
	E5(RELOCATE, 0x4444440, 5, 0x4444440, 6);
	CALL(3, 0x3333330, 0, 0, 0);
	E3(FREE, 0x3333330, 20);

	void *map = mmap(NULL, 5000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CALL(6, map, 5000, -1, MAP_PRIVATE | MAP_ANONYMOUS);
	E3(ALLOC, map, 8192);
	E4(MAPPED, map, 8192, 0);
	CALL(6, MAP_FAILED, 5000, 0, 0);
	uintptr_t from = (uintptr_t)map;
	map = mremap(map, 8192, 1 << 20, MREMAP_MAYMOVE);
	CALL(11, from, 8192, map, 1 << 20);
	E5(RELOCATE, from, 8192, map, 1 << 20);
	CALL(11, from, 8192, MAP_FAILED, 1 << 20);
	CALL(7, munmap(map, 1 << 20), map, 1 << 20, 0);
	E3(FREE, map, 1 << 20);
	CALL(7, -1, map, 1 << 20, 0);

	// Many blocks at once, freed in another order.
	static char *blocks[20000];
	for (int i = 0; i < 20000; i++) {
		blocks[i] = malloc(i % 200 + 1);
		CALL(1, blocks[i], i % 200 + 1, 0, 0);
		E3(ALLOC, blocks[i], i % 200 + 1);
	}
	for (int k = 0; k < 20000; k++) {
		int i = k * 7919 % 20000;
		CALL(3, blocks[i], 0, 0, 0);
		E3(FREE, blocks[i], i % 200 + 1);
		free(blocks[i]);
	}
}

// A string that ends where its page does; the next page cannot be read.
static char *at_page_end(const char *text, size_t bytes)
{
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mprotect(pages + 4096, 4096, PROT_NONE);
	return memcpy(pages + 4096 - bytes, text, bytes);
}

static void text(void)
{
	char a[64] = "hello, world", b[64] = "hello, there", c[128] = "";
	CALL(20, c, a, 13, 0);
	E4(COPY, c, a, 13);
	CALL(20, c, a, 0, 0);
	CALL(21, c, 40, 0, 0);
	E3(WRITE, c, 40);
	CALL(21, c, 0, 0, 0);
	CALL(22, a, strlen(a), 0, 0);
	E3(READ, a, 13);
	CALL(23, a, 5, strnlen(a, 5), 0);
	E3(READ, a, 5);
	CALL(23, a, 50, strnlen(a, 50), 0);
	E3(READ, a, 13);
	CALL(24, a, b, 13, 0);
	E3(READ, a, 8);
	E3(READ, b, 8);
	CALL(24, a, b, 7, 0);
	E3(READ, a, 7);
	E3(READ, b, 7);
	CALL(24, a, b, 0, 0);
	CALL(25, a, b, 0, 0);
	E3(READ, a, 8);
	E3(READ, b, 8);
	CALL(25, a, a, 0, 0);
	E3(READ, a, 13);
	E3(READ, a, 13);
	CALL(26, a, b, 3, 0);
	E3(READ, a, 3);
	E3(READ, b, 3);
	CALL(26, a, b, 100, 0);
	E3(READ, a, 8);
	E3(READ, b, 8);
	CALL(27, a, 'w', 13, memchr(a, 'w', 13));
	E3(READ, a, 8);
	CALL(27, a, 'z', 13, memchr(a, 'z', 13));
	E3(READ, a, 13);
	CALL(28, a, 'w', strchr(a, 'w'), 0);
	E3(READ, a, 8);
	CALL(28, a, 'z', strchr(a, 'z'), 0);
	E3(READ, a, 13);
	CALL(29, a, 0, 0, 0);
	E3(READ, a, 13);
	CALL(30, c, a, 0, 0);
	E4(COPY, c, a, 13);
	CALL(31, c, a, 5, 0);
	E4(COPY, c, a, 5);
	CALL(31, c, a, 20, 0);
	E4(COPY, c, a, 13);
	E3(WRITE, c + 13, 7);
	strcpy(c, "abc");
	CALL(32, c, a, 0, 0);
	E3(READ, c, 4);
	E4(COPY, c + 3, a, 13);
	CALL(33, c, a, 5, 0);
	E3(READ, c, 4);
	E4(COPY, c + 3, a, 5);
	E3(WRITE, c + 8, 1);
	CALL(33, c, a, 50, 0);
	E3(READ, c, 4);
	E4(COPY, c + 3, a, 13);
	CALL(33, c, a, 0, 0);
	E3(READ, c, 4);
	E3(WRITE, c + 3, 1);

	char *d = strdup(a);
	CALL(34, a, -1, d, 0);
	E3(ALLOC, d, 13);
	E4(COPY, d, a, 13);
	CALL(3, d, 0, 0, 0);
	E3(FREE, d, 13);
	free(d);
	d = strndup(a, 4);
	CALL(34, a, 4, d, 0);
	E3(ALLOC, d, 5);
	E4(COPY, d, a, 4);
	E3(WRITE, d + 4, 1);
	CALL(3, d, 0, 0, 0);
	E3(FREE, d, 5);
	free(d);
	CALL(34, a, 4, 0, 0);

	CALL(38, "ABCx", "abcy", 0, 0);
	E3(READ, "ABCx", 4);
	E3(READ, "abcy", 4);
	CALL(39, "ABCx", "abcy", 2, 0);
	E3(READ, "ABCx", 2);
	E3(READ, "abcy", 2);
	CALL(40, a, "wor", strstr(a, "wor"), 0);
	E3(READ, a, 10);
	E3(READ, "wor", 4);
	CALL(40, a, "nix", strstr(a, "nix"), 0);
	E3(READ, a, 13);
	E3(READ, "nix", 4);
	CALL(43, a, "leh", strspn(a, "leh"), 0);
	E3(READ, a, 5);
	E3(READ, "leh", 4);

	// Strings at the end of a page, at every distance and alignment.
	for (int n = 1; n < 24; n++) {
		char *s = at_page_end("abcdefghijklmnopqrstuvwxyz" + 26 - n + 1, n); // n - 1 letters and the terminator
		char *copy = strcpy(c + n, s);
		CALL(29, s, 0, 0, 0);
		E3(READ, s, n);
		CALL(25, s, copy, 0, 0);
		E3(READ, s, n);
		E3(READ, copy, n);
		CALL(24, copy, s, n, 0);
		E3(READ, copy, n);
		E3(READ, s, n);
		s[n - 1] = 'Z'; // no terminator: limits must hold
		CALL(31, c, s, n, 0);
		E4(COPY, c, s, n);
		CALL(26, s, s, n, 0);
		E3(READ, s, n);
		E3(READ, s, n);
	}
}

static void files(void)
{
	char buffer[64];
	FILE *file = tmpfile();
	fputs("line one\nline two\n", file);
	fflush(file);
	CALL(35, buffer, pread(fileno(file), buffer, 64, 0), 0, 0);
	E3(WRITE, buffer, 18);
	CALL(35, buffer, -1, 0, 0);
	CALL(35, buffer, 0, 0, 0);
	rewind(file);
	CALL(36, buffer, 3, fread(buffer, 3, 4, file), 0);
	E3(WRITE, buffer, 12);
	rewind(file);
	CALL(37, fgets(buffer, 64, file), 0, 0, 0);
	E3(WRITE, buffer, 10);
	CALL(37, 0, 0, 0, 0);
	CALL(41, buffer, 17, 0, 0);
	E3(READ, buffer, 17);
	CALL(42, buffer, 3, 5, 0);
	E3(READ, buffer, 15);
	CALL(42, buffer, -1, 5, 0);
	fclose(file);
}

static void marks(void)
{
	CALL(60, &site, 1234, 0, 0);
	E3(INPUT, &site, 1234);
	CALL(61, "stage", 0, 0, 0);
	printf("%d 5 stage\n", BEGIN);
	CALL(62, "stage two", 0, 0, 0);
	printf("%d 9 stage two\n", END);
	CALL(61, 0, 0, 0, 0);
	printf("%d 0 \n", BEGIN);
	static char name[5000];
	memset(name, 'n', 4999);
	CALL(61, name, 0, 0, 0);
	printf("%d 1024 %.1024s\n", BEGIN, name);
	CALL(9999, 1, 2, 3, 4);
}

int main(void)
{
	setvbuf(stdout, malloc(1 << 16), _IOFBF, 1 << 16);
	__dmdprof_v5_module__link_with_dmdprof_cc(&site);
	printf("%lu\n", U(&site));
	heap();
	text();
	files();
	marks();
	return 0;
}
