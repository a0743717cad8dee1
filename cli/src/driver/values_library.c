/* Functions of the C library that call back or copy, for programs that are built for the values model: the C library's own
   code has no hooks, so that values would not be followed into it. Each does what glibc's does, in the same order. Weak, so that
   a C library that is linked statically may bring its own. */

typedef __SIZE_TYPE__ size_t;
typedef __WCHAR_TYPE__ wide;
typedef int compare(const void *, const void *);
typedef int compare_with(const void *, const void *, void *);

void *malloc(size_t);
void free(void *);
void *memcpy(void *, const void *, size_t);
void *memmove(void *, const void *, size_t);

#define LIBRARY __attribute__((weak))

struct order {
    size_t size;
    compare *plain;
    compare_with *with;
    void *argument;
    char *spare;
};

static int compared(const struct order *order, const char *a, const char *b) {
    return order->with ? order->with(a, b, order->argument) : order->plain(a, b);
}

/* The top-down merge sort of glibc: the same comparisons, and equal elements stay in order. */
static void sort(const struct order *order, char *base, size_t count) {
    if (count <= 1)
        return;
    size_t size = order->size, first = count / 2, second = count - first;
    char *a = base, *b = base + first * size, *to = order->spare;
    sort(order, a, first);
    sort(order, b, second);
    while (first > 0 && second > 0) {
        if (compared(order, a, b) <= 0) {
            memcpy(to, a, size);
            a += size;
            first--;
        } else {
            memcpy(to, b, size);
            b += size;
            second--;
        }
        to += size;
    }
    if (first > 0)
        memcpy(to, a, first * size);
    memcpy(base, order->spare, (count - second) * size);
}

/* Without memory to spare: slow, but sorted. */
static void sort_in_place(const struct order *order, char *base, size_t count) {
    size_t size = order->size;
    for (size_t next = 1; next < count; next++)
        for (size_t at = next; at > 0; at--) {
            char *b = base + at * size, *a = b - size;
            if (compared(order, a, b) <= 0)
                break;
            for (size_t i = 0; i < size; i++) {
                char byte = a[i];
                a[i] = b[i];
                b[i] = byte;
            }
        }
}

static void sort_all(struct order *order, char *base, size_t count) {
    if (count <= 1 || order->size == 0)
        return;
    order->spare = malloc(count * order->size);
    if (!order->spare)
        return sort_in_place(order, base, count);
    sort(order, base, count);
    free(order->spare);
}

LIBRARY void qsort(void *base, size_t count, size_t size, compare *how) {
    struct order order = {size, how, 0, 0, 0};
    sort_all(&order, base, count);
}

LIBRARY void qsort_r(void *base, size_t count, size_t size, compare_with *how, void *argument) {
    struct order order = {size, 0, how, argument, 0};
    sort_all(&order, base, count);
}

LIBRARY void *bsearch(const void *key, const void *base, size_t count, size_t size, compare *how) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        const char *at = (const char *)base + middle * size;
        int order = how(key, at);
        if (order < 0)
            high = middle;
        else if (order > 0)
            low = middle + 1;
        else
            return (void *)at;
    }
    return 0;
}

LIBRARY wide *wmemcpy(wide *to, const wide *from, size_t count) {
    return memcpy(to, from, count * sizeof *to);
}

LIBRARY wide *wmempcpy(wide *to, const wide *from, size_t count) {
    memcpy(to, from, count * sizeof *to);
    return to + count;
}

LIBRARY wide *wmemmove(wide *to, const wide *from, size_t count) {
    return memmove(to, from, count * sizeof *to);
}

LIBRARY wide *wmemset(wide *to, wide value, size_t count) {
    for (size_t i = 0; i < count; i++)
        to[i] = value;
    return to;
}
