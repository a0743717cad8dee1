/* What the C library writes is on the stack when the program reads it: the kernel reads no byte for the first time. It reads the 14 characters of
 * snprintf that there is room for, 4 from sprintf, and the 10 of a line from getline. */
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) unsigned long kernel(const volatile char *text, unsigned long length) {
    unsigned long sum = 0;
    for (unsigned long i = 0; i < length; i++)
        sum += (unsigned char)text[i];
    return sum;
}

int main(void) {
    char line[15], number[8], *read = NULL;
    int length = snprintf(line, sizeof line, "%d and %s", 12345, "more than there is room for");
    int digits = sprintf(number, "%d", 4321);
    FILE *file = tmpfile();
    if (!file)
        return 1;
    fputs("ten bytes\n", file);
    rewind(file);
    size_t room = 0;
    ssize_t got = getline(&read, &room, file);
    printf("%lu %d\n", kernel(line, 14) + kernel(number, digits) + kernel(read, got), length);
    ssize_t none = getline(&read, &room, file);
    free(read);
    fclose(file);
    return none != -1 || snprintf(NULL, 0, "%d", length) != 2;
}
