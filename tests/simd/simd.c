/* SIMD by hand: what each function reads and writes is known, in bytes. With an argument, AVX-512 too. */
#include <immintrin.h>
#include <stdio.h>
#include <stdlib.h>

#define FN(features) __attribute__((noinline, target(features)))
enum { N = 1024 };

/* Reads 4N (at) + 4N (t). */
FN("avx2") static int gather(const int *t, const int *at, int *out)
{
	__m256i s = _mm256_setzero_si256();
	for (int i = 0; i < N; i += 8)
		s = _mm256_add_epi32(s, _mm256_i32gather_epi32(t, _mm256_loadu_si256((const __m256i *)(at + i)), 4));
	_mm256_storeu_si256((__m256i *)out, s);
	return out != 0;
}

/* Two lanes of four, at negative indices: reads 8N (at) + 4N (t), writes 4N. */
FN("avx2") static void gather_half(const int *t, const long long *at, int *out)
{
	for (int i = 0; i < N; i += 2) {
		__m128i index = _mm_loadu_si128((const __m128i *)(at + i));
		_mm_storel_epi64((__m128i *)(out + i), _mm_i64gather_epi32(t + N, index, 4));
	}
}

/* Reads 4N (m) + 2N (s), writes 2N. */
FN("avx2") static void masked(int *d, const int *s, const int *m)
{
	for (int i = 0; i < N; i += 8) {
		__m256i k = _mm256_load_si256((const __m256i *)(m + i));
		_mm256_maskstore_epi32(d + i, k, _mm256_maskload_epi32(s + i, k));
	}
}

/* Reads 4N. */
FN("sse3") static void unaligned(const int *s, int *out)
{
	__m128i a = _mm_setzero_si128();
	for (int i = 0; i < N; i += 4)
		a = _mm_add_epi32(a, _mm_lddqu_si128((const __m128i *)(s + i)));
	_mm_storeu_si128((__m128i *)out, a);
}

/* Reads 4N. */
FN("sse4.1") static void streamed(int *s, int *out)
{
	__m128i a = _mm_setzero_si128();
	for (int i = 0; i < N; i += 4)
		a = _mm_add_epi32(a, _mm_stream_load_si128((__m128i *)(s + i)));
	_mm_storeu_si128((__m128i *)out, a);
}

/* Reads 4N (m) + 4N (s), writes 2N: the mask has a byte for each. */
FN("sse2") static void moved(int *d, const int *s, const int *m)
{
	for (int i = 0; i < N; i += 4)
		_mm_maskmoveu_si128(_mm_loadu_si128((const __m128i *)(s + i)), _mm_loadu_si128((const __m128i *)(m + i)),
				    (char *)(d + i));
}

#define FN512 FN("avx512f,avx512bw,avx512vl")

/* Reads 4N (m) + 4N (at) + 2N (t), writes 2N (d). */
FN512 static void scattered(int *d, const int *t, const int *at, const int *m)
{
	for (int i = 0; i < N; i += 16) {
		__mmask16 k = _mm512_test_epi32_mask(_mm512_loadu_si512(m + i), _mm512_set1_epi32(1));
		__m512i index = _mm512_loadu_si512(at + i);
		__m512i v = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), k, index, t, 4);
		_mm512_mask_i32scatter_epi32(d, k, index, v, 4);
	}
}

/* Eight lanes with wide indices: reads 8N (at) + 8N (t), writes 8N (d). */
FN512 static void scattered_wide(double *d, const double *t, const long long *at)
{
	for (int i = 0; i < N; i += 8) {
		__m512i index = _mm512_loadu_si512(at + i);
		_mm512_i64scatter_pd(d + N, index, _mm512_i64gather_pd(index, t + N, 8), 8);
	}
}

/* Reads 4N (m) + 4N (s), writes 2N. */
FN512 static int compressed(int *d, const int *s, const int *m)
{
	int *to = d;
	for (int i = 0; i < N; i += 16) {
		__mmask16 k = _mm512_test_epi32_mask(_mm512_loadu_si512(m + i), _mm512_set1_epi32(1));
		_mm512_mask_compressstoreu_epi32(to, k, _mm512_loadu_si512(s + i));
		to += __builtin_popcount(k);
	}
	return to - d;
}

/* Reads 4N (m) + 2N (s), writes 4N. */
FN512 static void expanded(int *d, const int *s, const int *m)
{
	for (int i = 0; i < N; i += 16) {
		__mmask16 k = _mm512_test_epi32_mask(_mm512_loadu_si512(m + i), _mm512_set1_epi32(1));
		_mm512_storeu_si512(d + i, _mm512_maskz_expandloadu_epi32(k, s));
		s += __builtin_popcount(k);
	}
}

/* Reads 4N (m) + 4N (s), writes N/2: a byte per lane. */
FN512 static void narrowed(char *d, const int *s, const int *m)
{
	for (int i = 0; i < N; i += 16) {
		__mmask16 k = _mm512_test_epi32_mask(_mm512_loadu_si512(m + i), _mm512_set1_epi32(1));
		_mm512_mask_cvtepi32_storeu_epi8(d + i, k, _mm512_loadu_si512(s + i));
	}
}

/* The same bytes at the same depths by hand and by gather. */
__attribute__((noinline)) static void filled(volatile int *t)
{
	for (int i = 0; i < 64; i++)
		t[i] = i;
}
FN("avx2") static void picked(const int *t)
{
	__m256i v = _mm256_i32gather_epi32(t, _mm256_setr_epi32(3, 60, 17, 17, 0, 31, 5, 62), 4);
	__asm__ volatile("" : : "x"(v));
}
FN("avx2") static void picked_by_hand(const volatile int *t)
{
	(void)t[3], (void)t[60], (void)t[17], (void)t[17], (void)t[0], (void)t[31], (void)t[5], (void)t[62];
}

static void *block(size_t bytes)
{
	return aligned_alloc(64, bytes);
}

int main(int argc, char **argv)
{
	(void)argv;
	int *t = block(4 * N), *at = block(4 * N), *m = block(4 * N), *d = block(4 * N), out[8];
	long long *wide = block(8 * N);
	double *x = block(8 * N), *y = block(8 * N);
	long sum = 0;
	for (int i = 0; i < N; i++) {
		t[i] = i, at[i] = i * 37 % N, m[i] = i & 1 ? -1 : 0, d[i] = 0;
		wide[i] = i * 37 % N - N, x[i] = i, y[i] = 0;
	}
	gather(t, at, out), sum += out[3];
	gather_half(t, wide, d), sum += d[5];
	masked(d, t, m), sum += d[7];
	unaligned(t, out), sum += out[1];
	streamed(t, out), sum += out[1];
	moved(d, t, m), sum += d[9];
	if (argc > 1) {
		scattered(d, t, at, m), sum += d[37];
		scattered_wide(y, x, wide), sum += y[N - 1];
		sum += compressed(d, t, m) + d[11];
		expanded(d, t, m), sum += d[13];
		narrowed((char *)d, t, m), sum += d[2];
	}
	filled(t), picked(t), filled(t), picked_by_hand(t);
	printf("%ld\n", sum);
	return 0;
}
