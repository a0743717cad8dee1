/* Prints a random number of the system and what the environment loads before the C library. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

int main(void)
{
    unsigned seed = 0;
    if (getrandom(&seed, sizeof seed, 0) != sizeof seed)
        return 1;
    const char *preloaded = getenv("LD_PRELOAD");
    printf("%u %s\n", seed, preloaded ? preloaded : "nothing");
    return 0;
}
