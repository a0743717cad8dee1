// The fast path of a hook, by hand: what the instrumentation emits inline.
#include <stdint.h>
#include <stddef.h>

struct ring { volatile uint64_t cursor, limit; };
extern __thread struct ring *__dmdprof_v5_ring__link_with_dmdprof_cc __attribute__((tls_model("initial-exec")));
extern void __dmdprof_v5_reserve__link_with_dmdprof_cc(void);
extern void __dmdprof_v5_module__link_with_dmdprof_cc(const void *);
extern void __dmdprof_v5_call__link_with_dmdprof_cc(const void *, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
extern void __dmdprof_v5_landed__link_with_dmdprof_cc(void);

// preserve_most: only rax (result), r11 and the vector registers may change.
static inline __attribute__((always_inline)) uint64_t *room(size_t bytes)
{
	uint64_t *cursor;
	size_t kept = bytes;
	__asm__ volatile("call *__dmdprof_v5_reserve__link_with_dmdprof_cc@GOTPCREL(%%rip)"
	                 : "=a"(cursor), "+D"(kept)
	                 :
	                 : "r11", "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",
	                   "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
	if (kept != bytes)
		__builtin_trap();
	return cursor;
}

// A record of three words: 0x7fff in the low bits as "site", a stream's name, a number.
static inline __attribute__((always_inline)) void record(uint64_t stream, uint64_t number)
{
	struct ring *ring = __dmdprof_v5_ring__link_with_dmdprof_cc;
	uint64_t cursor = ring->cursor;
	if (cursor + 24 > ring->limit) {
		cursor = (uint64_t)room(24);
		ring = *(struct ring * volatile *)&__dmdprof_v5_ring__link_with_dmdprof_cc;
	}
	uint64_t *words = (uint64_t *)cursor;
	words[0] = 0x7ff8;
	words[1] = stream;
	words[2] = number;
	__atomic_store_n(&ring->cursor, cursor + 24, __ATOMIC_RELEASE);
}
