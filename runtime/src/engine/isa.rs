//! Which instruction set the engine's inner loops use.

/// Instruction set the engine's inner loops are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isa {
    /// What every processor of the target has.
    Portable,
    /// x86-64-v3: AVX2, BMI, POPCNT.
    Avx2,
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
            if v3 {
                return Isa::Avx2;
            }
        }
        Isa::Portable
    }
}

/// An instruction set that this processor has.
#[derive(Clone, Copy, Debug)]
pub struct Present(pub(super) Isa);

impl Present {
    /// The wanted one; the best there is if it is missing, or none is wanted.
    pub fn new(wanted: Option<Isa>) -> Self {
        Present(if wanted == Some(Isa::Portable) { Isa::Portable } else { Isa::detect() })
    }
}
