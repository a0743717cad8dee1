/* Does some work with an exactly known cost, then ends in the way that the first argument names. The kernel is a cyclic
 * scan of 256 words, 4 passes (see tests/truth/cyclic.c); everything it reads was stored just before. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define N 256
#define PASSES 4

static volatile uint64_t words[N];

__attribute__((noinline)) uint64_t kernel(volatile uint64_t *w) {
    uint64_t sum = 0;
    for (int pass = 0; pass < PASSES; pass++)
        for (int i = 0; i < N; i++)
            sum += w[i];
    return sum;
}

static uint64_t work(void) {
    for (int i = 0; i < N; i++)
        words[i] = (uint64_t)i;
    return kernel(words);
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "return";
    if (strcmp(how, "closed") == 0) {
        /* As daemons do: every descriptor, then the standard ones on /dev/null. */
        printf("closing\n");
        fflush(stdout);
        for (int fd = 3; fd < 4096; fd++)
            close(fd);
        close(0), close(1), close(2);
        for (int fd = 0; fd < 3; fd++)
            if (open("/dev/null", O_RDWR) != fd)
                return 9;
        return work() == 130560 ? 0 : 8;
    }
    if (strcmp(how, "chdir") == 0 && chdir("/") != 0)
        return 9;
    if (strcmp(how, "clearenv") == 0 && clearenv() != 0)
        return 9;
    printf("%" PRIu64 "\n", work());
    fflush(stdout);
    if (strcmp(how, "exit3") == 0)
        exit(3);
    if (strcmp(how, "_exit5") == 0)
        _exit(5);
    if (strcmp(how, "abort") == 0)
        abort();
    if (strcmp(how, "kill") == 0)
        kill(getpid(), SIGKILL);
    if (strcmp(how, "segfault") == 0) {
        volatile uint64_t *nowhere = NULL;
        return (int)*nowhere;
    }
    if (strcmp(how, "arguments") == 0)
        for (int i = 2; i < argc; i++)
            puts(argv[i]);
    if (strcmp(how, "cat") == 0)
        for (int c; (c = getchar()) != EOF;)
            putchar(c);
    if (strcmp(how, "stderr") == 0)
        fprintf(stderr, "to stderr\n");
    if (strcmp(how, "forever") == 0)
        for (;;)
            pause();
    return 0;
}
