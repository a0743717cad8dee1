//! The loops that are timed: operations in registers, loads in order, loads that wait for one another.
//!
//! All unsafe code of the calibration is here. An [`Isa`] exists only if the processor has its instructions, which is
//! what makes calling them safe.

use std::arch::asm;
use std::arch::x86_64::*;
use std::convert::identity;
use std::hint::black_box;

use crate::machine::OpType;

/// A set of instructions that this processor has. Made by [`Isa::present`] and [`Isa::widest`] only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Isa(Set);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Set {
    Scalar,
    Sse2,
    Avx2,
    Avx512,
}

impl Isa {
    /// All that the processor has, the narrowest first.
    #[must_use]
    pub fn present() -> Vec<Isa> {
        // The first two are part of x86-64.
        let mut sets = vec![Isa(Set::Scalar), Isa(Set::Sse2)];
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            sets.push(Isa(Set::Avx2));
        }
        if is_x86_feature_detected!("avx512f") {
            sets.push(Isa(Set::Avx512));
        }
        sets
    }

    /// The widest that the processor has.
    #[must_use]
    pub fn widest() -> Isa {
        Isa::present().pop().unwrap_or(Isa(Set::Sse2))
    }

    #[must_use]
    pub fn label(self) -> &'static str {
        match self.0 {
            Set::Scalar => "scalar",
            Set::Sse2 => "SSE2",
            Set::Avx2 => "AVX2 FMA",
            Set::Avx512 => "AVX-512",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    Double,
    Single,
}

impl Precision {
    #[must_use]
    pub fn op_type(self) -> OpType {
        match self {
            Precision::Double => OpType::Fp64,
            Precision::Single => OpType::Fp32,
        }
    }
}

/// Independent chains: enough for two units with a latency of four cycles for a multiplication and as much for an
/// addition; with the two constants they fit into 16 registers.
const CHAINS: usize = 12;

/// `x * FACTOR + ADDEND` stays near 1 for ever.
const FACTOR: f64 = 0.999_999;
const ADDEND: f64 = 0.000_001;

/// Multiplies and adds in registers; gives the number of operations, a multiply-add counting two.
pub fn flops(isa: Isa, precision: Precision, iterations: u64) -> f64 {
    let lanes = match (isa.0, precision) {
        (Set::Scalar, Precision::Double) => scalar_f64(iterations),
        (Set::Scalar, Precision::Single) => scalar_f32(iterations),
        // SAFETY: SSE2 is part of x86-64.
        (Set::Sse2, Precision::Double) => unsafe { sse2_f64(iterations) },
        // SAFETY: as above.
        (Set::Sse2, Precision::Single) => unsafe { sse2_f32(iterations) },
        // SAFETY: the value of Isa proves that the processor has AVX2 and FMA.
        (Set::Avx2, Precision::Double) => unsafe { avx2_f64(iterations) },
        // SAFETY: as above.
        (Set::Avx2, Precision::Single) => unsafe { avx2_f32(iterations) },
        // SAFETY: the value of Isa proves that the processor has AVX-512F.
        (Set::Avx512, Precision::Double) => unsafe { avx512_f64(iterations) },
        // SAFETY: as above.
        (Set::Avx512, Precision::Single) => unsafe { avx512_f32(iterations) },
    };
    (iterations * (CHAINS * lanes * 2) as u64) as f64
}

/// A loop over [`CHAINS`] vectors; gives the lanes of one.
macro_rules! chains {
    ($(#[$attribute:meta])* $name:ident, $scalar:ty, $lanes:literal, $set:ident, |$x:ident, $a:ident, $b:ident| $step:expr) => {
        $(#[$attribute])*
        #[inline(never)]
        fn $name(iterations: u64) -> usize {
            let ($a, $b) = ($set(black_box(FACTOR as $scalar)), $set(black_box(ADDEND as $scalar)));
            // Nobody knows that the chains are equal, so that all of them are computed.
            let mut chains = black_box([$set(1.0); CHAINS]);
            for _ in 0..iterations {
                for chain in &mut chains {
                    let $x = *chain;
                    *chain = $step;
                }
            }
            black_box(chains);
            $lanes
        }
    };
}

chains! { scalar_f64, f64, 1, identity, |x, a, b| scalar_step_f64(x, a, b) }
chains! { scalar_f32, f32, 1, identity, |x, a, b| scalar_step_f32(x, a, b) }
chains! { #[target_feature(enable = "sse2")] sse2_f64, f64, 2, _mm_set1_pd, |x, a, b| _mm_add_pd(_mm_mul_pd(x, a), b) }
chains! { #[target_feature(enable = "sse2")] sse2_f32, f32, 4, _mm_set1_ps, |x, a, b| _mm_add_ps(_mm_mul_ps(x, a), b) }
chains! { #[target_feature(enable = "avx2,fma")] avx2_f64, f64, 4, _mm256_set1_pd, |x, a, b| _mm256_fmadd_pd(x, a, b) }
chains! { #[target_feature(enable = "avx2,fma")] avx2_f32, f32, 8, _mm256_set1_ps, |x, a, b| _mm256_fmadd_ps(x, a, b) }
chains! { #[target_feature(enable = "avx512f")] avx512_f64, f64, 8, _mm512_set1_pd, |x, a, b| _mm512_fmadd_pd(x, a, b) }
chains! { #[target_feature(enable = "avx512f")] avx512_f32, f32, 16, _mm512_set1_ps, |x, a, b| _mm512_fmadd_ps(x, a, b) }

/// In assembly, because the compiler would make vectors of independent chains.
#[inline(always)]
fn scalar_step_f64(mut x: f64, a: f64, b: f64) -> f64 {
    // SAFETY: the two instructions are part of x86-64 and only change `x`.
    unsafe {
        asm!("mulsd {x}, {a}", "addsd {x}, {b}", x = inout(xmm_reg) x, a = in(xmm_reg) a, b = in(xmm_reg) b,
            options(pure, nomem, nostack, preserves_flags));
    }
    x
}

/// As [`scalar_step_f64`].
#[inline(always)]
fn scalar_step_f32(mut x: f32, a: f32, b: f32) -> f32 {
    // SAFETY: as above.
    unsafe {
        asm!("mulss {x}, {a}", "addss {x}, {b}", x = inout(xmm_reg) x, a = in(xmm_reg) a, b = in(xmm_reg) b,
            options(pure, nomem, nostack, preserves_flags));
    }
    x
}

/// Additions that wait for each other, a cycle each; gives how many.
pub fn additions(groups: u64) -> f64 {
    let mut sum = groups;
    for _ in 0..groups {
        // SAFETY: changes its operand and flags only.
        unsafe {
            asm!("add {x}, 1", "add {x}, 1", "add {x}, 1", "add {x}, 1", x = inout(reg) sum, options(nomem, nostack))
        };
    }
    black_box(sum);
    4.0 * groups as f64
}

/// Branches that go by a bit of a number, of which the next follows by a multiplication and an addition: by a bit that
/// nobody can foretell, or by none. Goes on from the last number, as branches that come again are learnt; gives how
/// many.
pub fn branches(number: &mut u64, times: u64, drawn: bool) -> f64 {
    let mask = u64::from(drawn) << 62;
    let mut taken = 0_u64;
    for _ in 0..times {
        // SAFETY: changes its operands and flags only.
        unsafe {
            asm!("imul {x}, {by}", "add {x}, {more}", "test {x}, {mask}", "jz 2f", "add {taken}, 1", "2:",
                x = inout(reg) *number, taken = inout(reg) taken, by = in(reg) 6_364_136_223_846_793_005_u64,
                more = in(reg) 1_442_695_040_888_963_407_u64, mask = in(reg) mask, options(nomem, nostack))
        };
    }
    black_box(taken);
    times as f64
}

/// Touches pages of a new mapping; gives how many.
pub fn first_touches() -> f64 {
    const PAGE: usize = 4096;
    const PAGES: usize = 256;
    let Ok(mut new) = memmap2::MmapMut::map_anon(PAGES * PAGE) else { return 0.0 };
    new.iter_mut().step_by(PAGE).for_each(|byte| *byte = black_box(1));
    PAGES as f64
}

/// Bytes of a [`Line`]: the least that caches move.
pub const LINE: usize = 64;
/// Lines that the reading loops take at a time.
pub const UNROLL: usize = 8;

/// A cache line; the first word is where a chain of loads goes next.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub struct Line([u64; LINE / 8]);

/// Lines that were written, so that each is a memory of its own: reads of untouched memory all go to one page of zeros.
#[must_use]
pub fn touched(lines: usize) -> Vec<Line> {
    vec![black_box(Line([1; LINE / 8])); lines]
}

/// One cycle through `2^bits` lines that never goes to a neighbour: a linear congruential generator of full period
/// (Hull and Dobell 1962: odd increment, multiplier one more than a multiple of four). Its low bits repeat soon, its
/// high bits, which choose the page, do not.
#[must_use]
pub fn cycle(bits: u32) -> Vec<Line> {
    let mask = (1u64 << bits) - 1;
    let next = |i: u64| i.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407) & mask;
    (0..=mask).map(|i| Line([next(i); LINE / 8])).collect()
}

/// One cycle through one line of each of `2^bits` pages, in sets of a cache that differ.
#[must_use]
pub fn page_cycle(bits: u32) -> Vec<Line> {
    const LINES: u64 = 4096 / LINE as u64;
    let place = |page: u64| page * LINES + page * 5 % LINES;
    let mut lines = touched((LINES << bits) as usize);
    for (page, line) in (0..).zip(cycle(bits)) {
        lines[place(page) as usize] = Line([place(line.0[0]); LINE / 8]);
    }
    lines
}

/// Goes along a [`cycle`]: each load needs the one before. Gives where it has come to.
#[inline(never)]
pub fn chase(lines: &[Line], from: usize, hops: usize) -> usize {
    (0..hops).fold(from, |at, _| lines[at].0[0] as usize)
}

/// Loads all lines so many times over.
pub fn read(isa: Isa, lines: &[Line], passes: usize) {
    for _ in 0..passes {
        let lines = black_box(lines);
        match isa.0 {
            // SAFETY: SSE2 is part of x86-64.
            Set::Scalar | Set::Sse2 => unsafe { read_sse2(lines) },
            // SAFETY: the value of Isa proves that the processor has AVX2.
            Set::Avx2 => unsafe { read_avx2(lines) },
            // SAFETY: the value of Isa proves that the processor has AVX-512F.
            Set::Avx512 => unsafe { read_avx512(lines) },
        }
    }
}

/// A loop over [`UNROLL`] lines at a time with one exclusive or per load; lines that do not fill a group are left out.
macro_rules! reads {
    ($(#[$attribute:meta])* $name:ident, $vector:ty, $zero:ident, $load:ident, $xor:ident) => {
        $(#[$attribute])*
        #[inline(never)]
        fn $name(lines: &[Line]) {
            const VECTORS: usize = LINE / size_of::<$vector>();
            let mut sums = [$zero(); UNROLL];
            for group in lines.chunks_exact(UNROLL) {
                for (sum, line) in sums.iter_mut().zip(group) {
                    let vectors = (&raw const *line).cast::<$vector>();
                    for i in 0..VECTORS {
                        // SAFETY: a line has so many vectors, and is aligned to the largest of them.
                        *sum = $xor(*sum, unsafe { $load(vectors.add(i)) });
                    }
                }
            }
            black_box(sums);
        }
    };
}

reads! { #[target_feature(enable = "sse2")] read_sse2, __m128i, _mm_setzero_si128, _mm_load_si128, _mm_xor_si128 }
reads! { #[target_feature(enable = "avx2")] read_avx2, __m256i, _mm256_setzero_si256, _mm256_load_si256, _mm256_xor_si256 }
reads! { #[target_feature(enable = "avx512f")] read_avx512, __m512i, _mm512_setzero_si512, _mm512_load_si512, _mm512_xor_si512 }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cycle_goes_through_all_lines() {
        let lines = cycle(10);
        let mut seen = vec![false; lines.len()];
        let mut at = 0;
        for _ in 0..lines.len() {
            at = chase(&lines, at, 1);
            assert!(!std::mem::replace(&mut seen[at], true), "{at} twice");
        }
        assert_eq!(chase(&lines, 0, lines.len()), 0);
    }

    #[test]
    fn all_loops_run_with_all_instructions_there_are() {
        let lines = touched(UNROLL * 3);
        let mut lanes = Vec::new();
        for isa in Isa::present() {
            read(isa, &lines, 2);
            lanes.push(flops(isa, Precision::Double, 10) / (10.0 * 2.0 * CHAINS as f64));
            assert_eq!(
                flops(isa, Precision::Single, 10),
                10.0 * 2.0 * CHAINS as f64 * lanes.last().unwrap() * if isa.0 == Set::Scalar { 1.0 } else { 2.0 }
            );
        }
        assert_eq!(lanes, [1.0, 2.0, 4.0, 8.0][..lanes.len()]);
    }
}
