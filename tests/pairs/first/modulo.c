// variants: variable constant
#include "../pair.h"
enum { N = 4096, TIMES = 2800 };
// Remainders by 1009: of a number that the compiler does not know (a division), or knows (a product and a shift).
static uint32_t numbers[N];
static volatile uint32_t unknown = 1009;
int main(void) {
    for (int i = 0; i < N; i++) numbers[i] = random_number();
    uint32_t divisor = unknown;
    uint64_t sum = 0;
    for (uint32_t t = 0; t < TIMES; t++)
        for (int i = 0; i < N; i++) {
#ifdef VARIANT_variable
            sum += (numbers[i] ^ t) % divisor;
#else
            sum += (numbers[i] ^ t) % 1009;
#endif
        }
    printf("%llu %u\n", (unsigned long long)sum, divisor);
}
