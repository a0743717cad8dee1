/* A modular power of large numbers, and a factorial. */
#include <stdio.h>
#include "tommath.h"

int main(void) {
    mp_int base, power, modulus, result;
    char text[20000];
    if (mp_init_multi(&base, &power, &modulus, &result, NULL) != MP_OKAY) return 1;
    mp_2expt(&modulus, 521);
    mp_sub_d(&modulus, 1, &modulus);
    mp_set(&base, 3);
    mp_sub_d(&modulus, 2, &power);
    if (mp_exptmod(&base, &power, &modulus, &result) != MP_OKAY) return 1;
    mp_to_radix(&result, text, sizeof text, NULL, 10);
    puts(text);
    mp_set(&result, 1);
    for (int i = 2; i <= 400; i++) mp_mul_d(&result, i, &result);
    mp_to_radix(&result, text, sizeof text, NULL, 10);
    puts(text);
    mp_clear_multi(&base, &power, &modulus, &result, NULL);
    return 0;
}
