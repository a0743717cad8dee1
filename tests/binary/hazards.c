/* Functions each of which has a known number of hazards. */
#include <stdint.h>
typedef volatile uint64_t __attribute__((aligned(1))) word;
static _Alignas(4096) unsigned char bytes[3 * 4096];
enum { TIMES = 1000 };
static word *at(long place) { return (word *)(bytes + place); }
__attribute__((noinline)) void whole(void) { for (int i = 0; i < TIMES; i++) *at(8); }
__attribute__((noinline)) void two_lines(void) { for (int i = 0; i < TIMES; i++) *at(61); }
__attribute__((noinline)) void two_pages(void) { for (int i = 0; i < TIMES; i++) *at(4093) = 1; }
int main(void) { whole(); two_lines(); two_pages(); return 0; }
