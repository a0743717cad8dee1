//! What the engine does most, compiled once per instruction set.
//!
//! Takes a stack, which knows the instruction set of this processor, and does one operation with it. Everything below such an
//! operation is inlined into it, and so is compiled for the same instruction set. Between operations there is a call, so that what is
//! large and seldom, or long, is there once and not wherever it is used: that is a third of the code, and a fifth of the time to compile it.

use super::{
    Access, Reports, Stream,
    cell::Cell,
    stack::{Full, Short, Stack},
};

/// Instruction set the engine's inner loops are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isa {
    /// What every processor of the target has.
    Portable,
    /// x86-64-v3: AVX2, BMI, POPCNT.
    Avx2,
    /// x86-64-v4: AVX-512 F, BW, DQ, VL.
    Avx512,
}

impl Isa {
    /// The best this processor has.
    #[must_use]
    pub fn detect() -> Isa {
        #[cfg(target_arch = "x86_64")]
        {
            let v3 = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("lzcnt")
                && is_x86_feature_detected!("popcnt");
            let v4 = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl");
            match (v3, v4) {
                (true, true) => return Isa::Avx512,
                (true, false) => return Isa::Avx2,
                _ => {}
            }
        }
        Isa::Portable
    }
}

/// An instruction set that this processor has.
#[derive(Clone, Copy, Debug)]
pub struct Present(Isa);

impl Present {
    /// The wanted one; the best there is if it is missing, or none is wanted.
    pub fn new(wanted: Option<Isa>) -> Self {
        let best = Isa::detect();
        Present(match wanted {
            Some(Isa::Portable) => Isa::Portable,
            Some(Isa::Avx2) if best == Isa::Avx512 => Isa::Avx2,
            _ => best,
        })
    }
}

macro_rules! per_isa {
    ($($(#[$doc:meta])* fn $name:ident, $v1:ident, $v3:ident, $v4:ident [$($generic:tt)*] [$($given:tt)*] =
        |$stack:ident $(, $arg:ident: $type:ty)*| -> $out:ty { $body:expr })*
    ) => {$(
        #[inline(never)]
        fn $v1<$($generic)*>($stack: &mut Stack<C> $(, $arg: $type)*) -> $out { $body }

        #[cfg(target_arch = "x86_64")]
        #[inline(never)]
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
        fn $v3<$($generic)*>($stack: &mut Stack<C> $(, $arg: $type)*) -> $out { $body }

        #[cfg(target_arch = "x86_64")]
        #[inline(never)]
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512dq,avx512vl")]
        fn $v4<$($generic)*>($stack: &mut Stack<C> $(, $arg: $type)*) -> $out { $body }

        $(#[$doc])*
        #[inline(always)]
        pub fn $name<$($generic)*>($stack: &mut Stack<C> $(, $arg: $type)*) -> $out {
            match $stack.isa.0 {
                // SAFETY: the processor has an instruction set that is `Present`, with all its features.
                #[cfg(target_arch = "x86_64")]
                Isa::Avx512 => unsafe { $v4::<$($given)*>($stack $(, $arg)*) },
                // SAFETY: as above.
                #[cfg(target_arch = "x86_64")]
                Isa::Avx2 => unsafe { $v3::<$($given)*>($stack $(, $arg)*) },
                _ => $v1::<$($given)*>($stack $(, $arg)*),
            }
        }
    )*};
}

per_isa! {
    /// See [`Stack::short_access_here`].
    fn short_access, short_access_v1, short_access_v3, short_access_v4 [C: Cell, const LOAD: bool] [C, LOAD] =
        |stack, addr: u64, len: u64, out: &mut Reports| -> Short { stack.short_access_here::<LOAD>(addr, len, out) }

    /// See [`Stack::access_here`].
    fn access, access_v1, access_v3, access_v4 [C: Cell, const LOAD: bool] [C, LOAD] =
        |stack, addr: u64, len: u64, out: &mut Reports| -> Result<(), Full> {
            stack.access_here::<LOAD>(addr, len, out)
        }

    /// See [`Stack::batch_here`].
    fn batch, batch_v1, batch_v3, batch_v4 [C: Cell] [C] =
        |stack, accesses: &[Access], labels: &[u32], out: &mut Reports| -> usize {
            stack.batch_here(accesses, labels, out)
        }

    /// See [`Stack::regular_here`].
    fn regular, regular_v1, regular_v3, regular_v4 [C: Cell] [C] =
        |stack, streams: &[Stream], labels: &[u32], iterations: u64, done: u64, out: &mut Reports| -> u64 {
            stack.regular_here(streams, labels, iterations, done, out)
        }

    /// See [`Stack::renumber_here`].
    fn renumber, renumber_v1, renumber_v3, renumber_v4 [C: Cell] [C] =
        |stack, gap: u64, len: u64| -> Result<(), Full> { stack.renumber_here(gap, len) }
}
