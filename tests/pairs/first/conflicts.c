// variants: power padded
#include "../pair.h"
enum { ROWS = 256, COLUMNS = 16, TIMES = 4000 };
// Columns of a matrix with rows of 4096 bytes all fall into one set of the cache; 64 bytes more spread them over all.
#ifdef VARIANT_power
enum { WIDTH = 1024 };
#else
enum { WIDTH = 1024 + 16 };
#endif
static uint32_t matrix[ROWS][WIDTH];
int main(void) {
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) matrix[i][j] = random_number();
    uint32_t sum = 0;
    for (int t = 0; t < TIMES; t++)
        for (int j = 0; j < COLUMNS; j++)
            for (int i = 0; i < ROWS; i++) sum = (sum ^ matrix[i][j]) + t;
    printf("%u\n", sum);
}
