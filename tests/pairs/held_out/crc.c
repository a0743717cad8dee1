// variants: by_byte by_four
#include "../pair.h"
enum { N = 1 << 16, TIMES = 190 };
// CRC-32 by tables: one look-up waits for the one before at each byte, or four look-ups at once at each fourth byte.
static uint32_t table[4][256];
static uint8_t bytes[N];
int main(void) {
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int k = 0; k < 8; k++) c = c & 1 ? c >> 1 ^ 0xedb88320u : c >> 1;
        table[0][i] = c;
    }
    for (int k = 1; k < 4; k++)
        for (int i = 0; i < 256; i++) table[k][i] = table[0][table[k - 1][i] & 255] ^ table[k - 1][i] >> 8;
    for (int i = 0; i < N; i++) bytes[i] = random_number() >> 5;
    uint32_t crc = ~0u;
    for (int t = 0; t < TIMES; t++) {
#ifdef VARIANT_by_byte
        for (int i = 0; i < N; i++) crc = table[0][(crc ^ bytes[i]) & 255] ^ crc >> 8;
#else
        for (int i = 0; i < N; i += 4) {
            uint32_t word = bytes[i] | bytes[i + 1] << 8 | bytes[i + 2] << 16 | (uint32_t)bytes[i + 3] << 24;
            crc ^= word;
            crc = table[3][crc & 255] ^ table[2][crc >> 8 & 255] ^ table[1][crc >> 16 & 255] ^ table[0][crc >> 24];
        }
#endif
    }
    printf("%08x\n", ~crc);
}
