/* A few bytes in each of 40 pages that are 64 MiB apart, again and again in an order that no loop has. */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mman.h>

enum { PAGES = 40, ROUNDS = 10000 };

int main(void) {
    char *pages[PAGES];
    for (long i = 0; i < PAGES; i++) {
        pages[i] = mmap((void *)(0x100000000000 + (i << 26)), 4096, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (pages[i] == MAP_FAILED) {
            perror("mmap");
            return 1;
        }
    }
    unsigned sum = 0, at = 1;
    for (int i = 0; i < PAGES * ROUNDS; i++) {
        at = at * 1103515245 + 12345;
        sum += ++pages[i % PAGES][at >> 20 & 4095];
    }
    printf("%u\n", sum);
    return 0;
}
