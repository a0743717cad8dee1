/* The same kernels by hand and with lanes: the same identities, so the same costs. With an argument, AVX-512 too. */
#include <immintrin.h>

#include "../../runtime/markers/include/dmdprof.h"

#define FN(features) __attribute__((target(features)))
enum { N = 16 };
static int raw_t[64], raw_at[N], raw_m[N], t[64], at[N], m[N], d[64], sum[N];

/* What is loaded as a vector below are values of 4 bytes each. */
static void begin(const char *name)
{
	dmdprof_input(raw_t, sizeof raw_t);
	dmdprof_input(raw_at, sizeof raw_at);
	dmdprof_input(raw_m, sizeof raw_m);
	dmdprof_begin(name);
	for (int i = 0; i < 64; i++)
		t[i] = raw_t[i], d[i] = 0;
	for (int i = 0; i < N; i++)
		at[i] = raw_at[i], m[i] = raw_m[i], sum[i] = 0;
}

static void end(const char *name)
{
	dmdprof_output(d, sizeof d);
	dmdprof_output(sum, sizeof sum);
	dmdprof_end(name);
}

static void gather_by_hand(void)
{
	int x[8];
	begin("gather by hand");
	for (int i = 0; i < N; i += 8) {
		for (int k = 0; k < 8; k++)
			x[k] = t[at[i + k]];
		for (int k = 0; k < 8; k++)
			sum[i + k] = x[k] + x[k];
	}
	end("gather by hand");
}

FN("avx2") static void gather(void)
{
	begin("gather");
	for (int i = 0; i < N; i += 8) {
		__v8si x = (__v8si)_mm256_i32gather_epi32(t, _mm256_loadu_si256((const __m256i *)(at + i)), 4);
		_mm256_storeu_si256((__m256i *)(sum + i), (__m256i)(x + x));
	}
	end("gather");
}

static int taken(int condition)
{
	switch (condition) {
	case -1:
		return 1;
	default:
		return 0;
	}
}

static void masked_by_hand(void)
{
	int k[8];
	begin("masked by hand");
	for (int i = 0; i < N; i += 8) {
		int x[8] = { 0 };
		for (int j = 0; j < 8; j++)
			k[j] = taken(m[i + j]);
		for (int j = 0; j < 8; j++)
			if (k[j])
				x[j] = t[i + j];
		for (int j = 0; j < 8; j++)
			x[j] = x[j] + x[j];
		for (int j = 0; j < 8; j++)
			k[j] = taken(m[i + j]);
		for (int j = 0; j < 8; j++)
			if (k[j])
				d[i + j] = x[j];
	}
	end("masked by hand");
}

FN("avx2") static void masked(void)
{
	begin("masked");
	for (int i = 0; i < N; i += 8) {
		__m256i k = _mm256_loadu_si256((const __m256i *)(m + i));
		__v8si x = (__v8si)_mm256_maskload_epi32(t + i, k);
		_mm256_maskstore_epi32(d + i, k, (__m256i)(x + x));
	}
	end("masked");
}

static void spread_by_hand(void)
{
	int k[N], used = 0;
	begin("spread by hand");
	for (int i = 0; i < N; i++)
		k[i] = i % 3 == 0;
	for (int i = 0; i < N; i++)
		sum[i] = k[i] ? t[used++] : 0;
	for (int i = 0; i < N; i++)
		sum[i] = sum[i] + sum[i];
	for (int i = 0; i < N; i++)
		if (k[i])
			d[at[i]] = sum[i];
	end("spread by hand");
}

FN("avx512f") static void spread(void)
{
	__mmask16 k = 0x9249;
	begin("spread");
	__v16si x = (__v16si)_mm512_maskz_expandloadu_epi32(k, t);
	x = x + x;
	_mm512_storeu_si512(sum, (__m512i)x);
	_mm512_mask_i32scatter_epi32(d, k, _mm512_loadu_si512(at), (__m512i)x, 4);
	end("spread");
}

static void packed_by_hand(void)
{
	int x[N], used = 0;
	begin("packed by hand");
	for (int i = 0; i < N; i++)
		x[i] = t[i] + t[i];
	for (int i = 0; i < N; i++)
		if (i % 3 == 0)
			d[used++] = x[i];
	end("packed by hand");
}

FN("avx512f") static void packed(void)
{
	begin("packed");
	__v16si x = (__v16si)_mm512_loadu_si512(t);
	_mm512_mask_compressstoreu_epi32(d, 0x9249, (__m512i)(x + x));
	end("packed");
}

int main(int argc, char **argv)
{
	(void)argv;
	for (int i = 0; i < 64; i++)
		raw_t[i] = i;
	for (int i = 0; i < N; i++)
		raw_at[i] = i * 7 % N, raw_m[i] = i % 3 ? -1 : 0;
	gather_by_hand(), gather();
	masked_by_hand(), masked();
	if (argc > 1) {
		spread_by_hand(), spread();
		packed_by_hand(), packed();
	}
	return 0;
}
