/* Blocks of C++, before and after `operator new` ends by an exception. Each function is called a hundred times. */
#include <cstddef>
#include <new>

__attribute__((noipa)) static void keep(volatile char *block, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        block[i] = (char)i;
}

__attribute__((noipa)) static void of_one(void) {
    struct Large {
        char bytes[3000];
    };
    Large *block = new Large;
    keep(block->bytes, sizeof block->bytes);
    delete block;
}

__attribute__((noipa)) static void of_aligned(void) {
    struct alignas(64) Aligned {
        char bytes[640];
    };
    Aligned *block = new Aligned;
    keep(block->bytes, sizeof block->bytes);
    delete block;
}

/* More than there is, every other time. */
__attribute__((noipa)) static void of_many(size_t bytes) {
    try {
        char *block = new char[bytes];
        keep(block, bytes);
        delete[] block;
    } catch (std::bad_alloc &) {
    }
}

int main() {
    for (int i = 0; i < 100; i++) {
        of_one();
        of_many(i % 2 ? ~size_t(0) >> 2 : 900);
        of_aligned();
    }
}
