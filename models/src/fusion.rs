//! Fusion: what it saves to run a chain of regions as one, without writing and reading back what only the chain uses.
//!
//! Takes the regions of a chain and a machine's sustained rates and floor, gives the time of the regions one by one, of the
//! fused chain, and the speedup. Refuses rates that are not positive, negative counts, and more bytes removed than are moved.
//!
//! Source: Apple Neural Engine book, chapter 18 (graph cost).
//!
//! | symbol | meaning | unit |
//! |---|---|---|
//! | F_i, B_i | work of region i, its bytes (inputs, outputs, weights) | op, B |
//! | m_i | bytes that region i produces and only the chain uses | B |
//! | f, B, t0 | sustained rates of arithmetic and of transfer, floor of a dispatch | op/s, B/s, s |
//!
//! * `unfused = sum_i (max(F_i / f, B_i / B) + t0)`
//! * `fused = max(sum F_i / f, (sum B_i - 2 sum m_i) / B) + t0`
//!
//! Every internal byte is removed twice, where it is written and where it is read. If several regions of the chain read it,
//! fusion saves more than this says.

use crate::error::{InputError, at_most, not_empty, not_negative, positive};

/// A region of a chain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Region {
    /// F, operations.
    pub work: f64,
    /// B, bytes of inputs, outputs and weights.
    pub bytes: f64,
    /// m, bytes of the outputs that only later regions of the chain use.
    pub internal: f64,
}

/// What regions run on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Device {
    /// f, operations per second.
    pub rate: f64,
    /// B, bytes per second.
    pub bandwidth: f64,
    /// t0, seconds per dispatch.
    pub floor: f64,
}

/// Times of a chain, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fusion {
    pub unfused: f64,
    pub fused: f64,
}

impl Fusion {
    /// `unfused / fused`; `None` if the fused chain takes no time.
    #[must_use]
    pub fn speedup(&self) -> Option<f64> {
        (self.fused > 0.0).then(|| self.unfused / self.fused)
    }
}

/// Times of `chain` region by region and as one.
///
/// # Errors
///
/// If the chain is empty, a rate is not positive, a count or the floor is negative, a region's internal bytes are more than its
/// bytes, or twice the internal bytes are more than all bytes.
pub fn estimate(device: &Device, chain: &[Region]) -> Result<Fusion, InputError> {
    positive("rate", device.rate)?;
    positive("bandwidth", device.bandwidth)?;
    not_negative("floor", device.floor)?;
    check(chain)?;
    let dispatch = |work: f64, bytes: f64| (work / device.rate).max(bytes / device.bandwidth) + device.floor;
    let bytes: f64 = chain.iter().map(|region| region.bytes).sum();
    let removed = 2.0 * chain.iter().map(|region| region.internal).sum::<f64>();
    at_most("bytes written and read inside the chain", bytes, removed)?;
    Ok(Fusion {
        unfused: chain.iter().map(|region| dispatch(region.work, region.bytes)).sum(),
        fused: dispatch(chain.iter().map(|region| region.work).sum(), bytes - removed),
    })
}

fn check(chain: &[Region]) -> Result<(), InputError> {
    not_empty("regions in the chain", chain)?;
    for (i, region) in chain.iter().enumerate() {
        not_negative(format_args!("work of region {i}"), region.work)?;
        not_negative(format_args!("bytes of region {i}"), region.bytes)?;
        let internal = format_args!("internal bytes of region {i}");
        at_most(internal, region.bytes, not_negative(internal, region.internal)?)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::{Convolution, FORMULA, close_to, prints};

    const H13: Device = Device { rate: 3.25e12, bandwidth: 9.0e9, floor: 0.23e-3 };

    /// Three 1x1 convolutions, 256 to 256 channels at 28x28, in half precision.
    fn chain(internal: [f64; 3]) -> [Region; 3] {
        let one = Convolution { kernel: 1, inputs: 256, outputs: 256, side: 28, measured: f64::NAN };
        assert_eq!((one.work(), one.bytes()), (102760448, 933888));
        internal.map(|internal| Region { work: one.work() as f64, bytes: one.bytes() as f64, internal })
    }

    #[test]
    fn three_convolutions_as_one() {
        let fusion = estimate(&H13, &chain([401408.0, 401408.0, 0.0])).unwrap();
        close_to(fusion.unfused, 1001.296e-6, FORMULA);
        close_to(fusion.fused, 362.892444e-6, 2e-9);
        close_to(fusion.speedup().unwrap(), 2.759208728, FORMULA);
    }

    #[test]
    fn one_floor_alone_saves_less() {
        let fusion = estimate(&H13, &chain([0.0; 3])).unwrap();
        prints(fusion.fused * 1e6, 541.296, 3);
    }

    #[test]
    fn one_region_gains_nothing() {
        let fusion = estimate(&H13, &chain([0.0; 3])[..1]).unwrap();
        assert_eq!(fusion.speedup(), Some(1.0));
    }

    #[test]
    fn nothing_in_no_time_has_no_speedup() {
        let idle = Region { work: 0.0, bytes: 0.0, internal: 0.0 };
        let fusion = estimate(&Device { floor: 0.0, ..H13 }, &[idle, idle]).unwrap();
        assert_eq!((fusion.fused, fusion.speedup()), (0.0, None));
    }

    #[test]
    fn impossible_figures_are_named() {
        let refused = |chain: &[Region]| estimate(&H13, chain).unwrap_err().to_string();
        assert_eq!(refused(&[]), "there are no regions in the chain");
        let too_much = Region { work: 1.0, bytes: 10.0, internal: 11.0 };
        assert_eq!(refused(&[too_much]), "internal bytes of region 0 must be at most 10, is 11");
        let unread = Region { work: 1.0, bytes: 10.0, internal: 10.0 };
        assert_eq!(refused(&[unread]), "bytes written and read inside the chain must be at most 10, is 20");
    }
}
