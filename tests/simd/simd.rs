//! SIMD by hand in Rust: what each function reads and writes is known, in bytes. With an argument, AVX-512 too.

use std::arch::x86_64::*;

const N: usize = 1024;

/// Reads 4N (at) + 4N (t), writes 32.
#[unsafe(no_mangle)]
#[inline(never)]
#[target_feature(enable = "avx2")]
unsafe fn gather(t: *const i32, at: *const i32, out: *mut i32) {
    unsafe {
        let mut sum = _mm256_setzero_si256();
        for i in (0..N).step_by(8) {
            sum = _mm256_add_epi32(sum, _mm256_i32gather_epi32::<4>(t, _mm256_loadu_si256(at.add(i).cast())));
        }
        _mm256_storeu_si256(out.cast(), sum);
    }
}

/// Reads 4N (m) + 2N (s), writes 2N.
#[unsafe(no_mangle)]
#[inline(never)]
#[target_feature(enable = "avx2")]
unsafe fn masked(d: *mut i32, s: *const i32, m: *const i32) {
    unsafe {
        for i in (0..N).step_by(8) {
            let k = _mm256_loadu_si256(m.add(i).cast());
            _mm256_maskstore_epi32(d.add(i), k, _mm256_maskload_epi32(s.add(i), k));
        }
    }
}

/// Reads 4N, writes 16.
#[unsafe(no_mangle)]
#[inline(never)]
#[target_feature(enable = "sse3")]
unsafe fn unaligned(s: *const i32, out: *mut i32) {
    unsafe {
        let mut sum = _mm_setzero_si128();
        for i in (0..N).step_by(4) {
            sum = _mm_add_epi32(sum, _mm_lddqu_si128(s.add(i).cast()));
        }
        _mm_storeu_si128(out.cast(), sum);
    }
}

/// Reads 4N (m) + 4N (s), writes 2N.
#[unsafe(no_mangle)]
#[inline(never)]
unsafe fn moved(d: *mut i32, s: *const i32, m: *const i32) {
    unsafe {
        for i in (0..N).step_by(4) {
            let (data, mask) = (_mm_loadu_si128(s.add(i).cast()), _mm_loadu_si128(m.add(i).cast()));
            _mm_maskmoveu_si128(data, mask, d.add(i).cast());
        }
    }
}

/// Reads 4N (m) + 4N (at) + 2N (t), writes 2N (d).
#[unsafe(no_mangle)]
#[inline(never)]
#[target_feature(enable = "avx512f")]
unsafe fn scattered(d: *mut i32, t: *const i32, at: *const i32, m: *const i32) {
    unsafe {
        for i in (0..N).step_by(16) {
            let k = _mm512_test_epi32_mask(_mm512_loadu_si512(m.add(i).cast()), _mm512_set1_epi32(1));
            let index = _mm512_loadu_si512(at.add(i).cast());
            let v = _mm512_mask_i32gather_epi32::<4>(_mm512_setzero_si512(), k, index, t);
            _mm512_mask_i32scatter_epi32::<4>(d, k, index, v);
        }
    }
}

/// Reads 4N (m) + 4N (s), writes 2N.
#[unsafe(no_mangle)]
#[inline(never)]
#[target_feature(enable = "avx512f")]
unsafe fn compressed(d: *mut i32, s: *const i32, m: *const i32) {
    unsafe {
        let mut to = d;
        for i in (0..N).step_by(16) {
            let k = _mm512_test_epi32_mask(_mm512_loadu_si512(m.add(i).cast()), _mm512_set1_epi32(1));
            _mm512_mask_compressstoreu_epi32(to, k, _mm512_loadu_si512(s.add(i).cast()));
            to = to.add(k.count_ones() as usize);
        }
    }
}

fn main() {
    let n = N as i32;
    let t: Vec<i32> = (0..n).collect();
    let at: Vec<i32> = (0..n).map(|i| i * 37 % n).collect();
    let m: Vec<i32> = (0..n).map(|i| -(i & 1)).collect();
    let (mut d, mut out) = (vec![0; N], [0; 8]);
    let mut sum = 0;
    // SAFETY: the caller has asked whether the machine has the instructions; all blocks have N elements.
    unsafe {
        gather(t.as_ptr(), at.as_ptr(), out.as_mut_ptr());
        sum += out[3];
        masked(d.as_mut_ptr(), t.as_ptr(), m.as_ptr());
        sum += d[7];
        unaligned(t.as_ptr(), out.as_mut_ptr());
        sum += out[1];
        moved(d.as_mut_ptr(), t.as_ptr(), m.as_ptr());
        sum += d[9];
        if std::env::args().len() > 1 {
            scattered(d.as_mut_ptr(), t.as_ptr(), at.as_ptr(), m.as_ptr());
            sum += d[37];
            compressed(d.as_mut_ptr(), t.as_ptr(), m.as_ptr());
            sum += d[11];
        }
    }
    println!("{sum}");
}
