//! Variants by the cycles that cores need for them, and whether that tells which is faster.
//!
//! Takes what cores took for each variant; gives their costs on the first core, and of two variants which is faster, or
//! that it cannot be told: they are closer to each other than the model is to the clock, or cores do not agree.

use super::Variant;
use crate::{profile::model::MeasuredCycles, shared::human};

/// Variants whose cycles differ by less than this factor are not told apart: half of the model's times are as near to
/// the clock (`docs/evidence.md`).
pub const NEAR: f64 = 1.1;

/// Cycles of variants on cores.
pub struct OnCores {
    /// Machines.
    pub cores: Vec<String>,
    /// By core and variant.
    cycles: Vec<Vec<f64>>,
}

/// Of two variants.
#[derive(Clone, Debug, PartialEq)]
pub struct CycleOrder {
    /// The one with fewer cycles on the first core, and the other.
    pub order: (usize, usize),
    /// How many times as many the other needs there.
    pub times: f64,
    /// Why the order cannot be told; nothing: it is told.
    pub doubt: Option<String>,
}

impl OnCores {
    /// `None` unless the same cores followed all variants.
    #[must_use]
    pub fn from_variants(variants: &[Variant]) -> Option<Self> {
        let measured: Vec<&MeasuredCycles> =
            variants.iter().map(|variant| variant.evidence.profile.cycles.as_ref()).collect::<Option<_>>()?;
        let names = |cycles: &MeasuredCycles| cycles.cores.iter().map(|core| core.name.clone()).collect::<Vec<_>>();
        let cores = names(measured.first()?);
        measured.iter().all(|cycles| names(cycles) == cores).then_some(())?;
        let on = |core: usize| measured.iter().map(|cycles| cycles.cores[core].cycles as f64).collect();
        Some(Self { cycles: (0..cores.len()).map(on).collect(), cores })
    }

    /// Of each variant, on the first core.
    #[must_use]
    pub fn costs(&self) -> Vec<f64> {
        self.cycles[0].clone()
    }

    /// Which of two variants is faster.
    #[must_use]
    pub fn compare_two(&self, a: usize, b: usize) -> CycleOrder {
        let first = &self.cycles[0];
        let (fast, slow) = if first[b] < first[a] { (b, a) } else { (a, b) };
        let times = first[slow] / first[fast];
        let others = self.cores.iter().zip(&self.cycles).filter(|(_, cycles)| cycles[slow] * NEAR < cycles[fast]);
        let others: Vec<&str> = others.map(|(name, _)| name.as_str()).collect();
        let doubt = if times < NEAR {
            Some(format!("cannot tell: {} apart, less than the model's own error", human::share(times - 1.0)))
        } else {
            (!others.is_empty()).then(|| format!("cannot tell: the other way round on {}", others.join(", ")))
        };
        CycleOrder { order: (fast, slow), times, doubt }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cores_with(cycles: &[[f64; 3]]) -> OnCores {
        OnCores {
            cores: ["wide", "narrow"].map(String::from)[..cycles.len()].into(),
            cycles: cycles.iter().map(|core| core.to_vec()).collect(),
        }
    }

    #[test]
    fn what_is_near_or_disputed_is_not_told() {
        let found = cores_with(&[[100.0, 105.0, 200.0], [100.0, 100.0, 80.0]]);
        assert_eq!(found.compare_two(2, 0).order, (0, 2));
        assert_eq!(found.compare_two(0, 1).doubt.unwrap(), "cannot tell: 5.0% apart, less than the model's own error");
        assert_eq!(found.compare_two(0, 2).doubt.unwrap(), "cannot tell: the other way round on narrow");
        let alone = cores_with(&[[100.0, 105.0, 200.0]]);
        assert_eq!(alone.compare_two(0, 2), CycleOrder { order: (0, 2), times: 2.0, doubt: None });
    }
}
