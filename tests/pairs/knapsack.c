// variants: table line
#include "pair.h"
enum { ITEMS = 200, CAPACITY = 60000 };
#ifdef VARIANT_table
static int best[ITEMS + 1][CAPACITY + 1];
#else
static int best[CAPACITY + 1];
#endif
int main(void) {
    for (int i = 1; i <= ITEMS; i++) {
        int weight = random_number() % 900 + 100, value = random_number() % 1000;
#ifdef VARIANT_table
        for (int c = 0; c <= CAPACITY; c++) {
            int without = best[i - 1][c], with = c >= weight ? best[i - 1][c - weight] + value : 0;
            best[i][c] = with > without ? with : without;
        }
#else
        for (int c = CAPACITY; c >= weight; c--) {
            int with = best[c - weight] + value;
            if (with > best[c]) best[c] = with;
        }
#endif
    }
#ifdef VARIANT_table
    printf("%d\n", best[ITEMS][CAPACITY]);
#else
    printf("%d\n", best[CAPACITY]);
#endif
}
