//! Fusion: what it saves to run a chain of regions as one, without writing and reading back what only the chain uses.
//!
//! Takes the regions of a chain and a machine's sustained rates and floor, gives the time of the regions one by one, of
//! the fused chain, and the speedup. Refuses rates that are not positive, negative counts, and more bytes removed than
//! are moved.
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
//! Every internal byte is removed twice, where it is written and where it is read. If several regions of the chain read
//! it, fusion saves more than this says.

use crate::error::{InputError, at_most, not_empty, not_negative, positive, same_count};

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
    /// One operation after the other.
    pub unfused: f64,
    /// All operations as one.
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
/// If the chain is empty, a rate is not positive, a count or the floor is negative, a region's internal bytes are more
/// than its bytes, or twice the internal bytes are more than all bytes.
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

/// A region of a chain on a machine with several levels: bytes on the link into each, innermost first.
#[derive(Debug, Clone, PartialEq)]
pub struct Tiered {
    /// F, operations.
    pub work: f64,
    /// B on each link.
    pub bytes: Vec<f64>,
    /// m on each link.
    pub internal: Vec<f64>,
}

/// [`estimate`] with the slowest link in place of the only one: `max(F / f, B_0 / BW_0, B_1 / BW_1, ...)`. Our
/// extension; with one link it is the same.
///
/// # Errors
///
/// As for [`estimate`], for each link, and if a region has not one count per link.
pub fn hierarchical(rate: f64, bandwidths: &[f64], floor: f64, chain: &[Tiered]) -> Result<Fusion, InputError> {
    let mut unfused = vec![0.0f64; chain.len()];
    let mut fused = 0.0f64;
    for (link, &bandwidth) in bandwidths.iter().enumerate() {
        let on_link = |region: &Tiered| -> Result<Region, InputError> {
            same_count("bytes per link", bandwidths.len(), region.bytes.len())?;
            same_count("internal bytes per link", bandwidths.len(), region.internal.len())?;
            Ok(Region { work: region.work, bytes: region.bytes[link], internal: region.internal[link] })
        };
        let regions = chain.iter().map(on_link).collect::<Result<Vec<_>, _>>()?;
        let device = Device { rate, bandwidth, floor };
        fused = fused.max(estimate(&device, &regions)?.fused);
        for (time, region) in unfused.iter_mut().zip(&regions) {
            *time = time.max(estimate(&device, &[Region { internal: 0.0, ..*region }])?.unfused);
        }
    }
    Ok(Fusion { unfused: unfused.iter().sum(), fused })
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
    fn one_link_is_the_published_form_and_of_several_the_slowest_counts() {
        let plain = chain([401408.0, 401408.0, 0.0]);
        let tiered = |factor: f64| {
            let region = |r: &Region| Tiered {
                work: r.work,
                bytes: vec![r.bytes * factor, r.bytes],
                internal: vec![r.internal * factor, r.internal],
            };
            plain.iter().map(region).collect::<Vec<_>>()
        };
        let one: Vec<Tiered> =
            plain.iter().map(|r| Tiered { work: r.work, bytes: vec![r.bytes], internal: vec![r.internal] }).collect();
        let published = estimate(&H13, &plain).unwrap();
        assert_eq!(hierarchical(H13.rate, &[H13.bandwidth], H13.floor, &one).unwrap(), published);
        // A second link with twice the bytes and four times the bandwidth never binds; with the bandwidth of the first
        // it does.
        let two = |inner: f64| hierarchical(H13.rate, &[inner, H13.bandwidth], H13.floor, &tiered(2.0)).unwrap();
        assert_eq!(two(4.0 * H13.bandwidth), published);
        close_to(two(H13.bandwidth).unfused - 3.0 * H13.floor, 2.0 * (published.unfused - 3.0 * H13.floor), FORMULA);
        let error = hierarchical(1.0, &[1.0], 0.0, &tiered(1.0)).unwrap_err().to_string();
        assert_eq!(error, "bytes per link: 1 needed, 2 given");
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
