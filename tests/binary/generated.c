/* Functions that are made while the program runs, with a file for perf that names all but the last: one reads 1000
 * words, one writes 500, at the place of one that read 250, and one without a name reads 100. Prints its number, by
 * which the file is called. For x86-64. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef void function(long *words, long count);

/* A word per turn: mov (%rdi),%rax or mov %rsi,(%rdi); add $8,%rdi; dec %rsi; jnz; ret. */
static const unsigned char reads[] = {0x48, 0x8b, 0x07, 0x48, 0x83, 0xc7, 0x08, 0x48, 0xff, 0xce, 0x75, 0xf4, 0xc3};
static const unsigned char writes[] = {0x48, 0x89, 0x37, 0x48, 0x83, 0xc7, 0x08, 0x48, 0xff, 0xce, 0x75, 0xf4, 0xc3};

static long words[1000];

static void make(unsigned char *at, const unsigned char *code, FILE *names, const char *name) {
    memcpy(at, code, sizeof reads);
    if (name) {
        fprintf(names, "%lx %zx %s\n", (unsigned long)at, sizeof reads, name);
        fflush(names);
    }
}

int main(void) {
    unsigned char *room = mmap(0, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    FILE *names = fopen(path, "w");
    if (room == MAP_FAILED || !names)
        return 1;
    make(room, reads, names, "JS:*reader /app/main.js:1:1");
    make(room + 256, reads, names, "former");
    make(room + 4096, reads, names, NULL);
    ((function *)room)(words, 1000);
    ((function *)(room + 256))(words, 250);
    make(room + 256, writes, names, "py::writer:/app/main.py");
    ((function *)(room + 256))(words, 500);
    ((function *)(room + 4096))(words, 100);
    fclose(names);
    printf("%d\n", (int)getpid());
    return 0;
}
