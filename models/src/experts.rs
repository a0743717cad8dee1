//! Expert parallelism: how devices are shared out, what tokens cost to send to their experts, and how unevenly they
//! arrive.
//!
//! Takes numbers of devices, tokens and experts, gives the data-parallel degree, bytes and time of the exchange, and
//! the load of the fullest expert. Refuses devices that do not suffice and imbalances below 1.
//!
//! Sources: mlsysim (Machine Learning Systems book), `math.qmd` (degree, all-to-all) and `MoERoutingModel` of 0.1.2
//! (experts at work); the fullest of many bins: Raab, Steger, "Balls into bins", 1998.
//!
//! | symbol | meaning | unit |
//! |---|---|---|
//! | TP, PP, EP | devices per tensor-, pipeline- and expert-parallel group | 1 |
//! | t, k, E | tokens per device and layer, experts per token, experts | 1 |
//! | h | bytes of a token | B |
//!
//! * data-parallel degree `total / (TP PP EP)`, whole; below 1 is an error
//! * each device sends `t k h` bytes, there and back: two all-to-alls per layer
//! * imbalance: load of the fullest expert over the mean; random routing of n = t k tokens: about
//!   `1 + sqrt(2 ln E (1 - 1/E) / (n / E))`
//! * an expert gets each token at most once, so an imbalance i counts as `min(i, E / k)` ([`bounded`]); k tokens then
//!   keep as long as `min(E, k i)` experts would that are evenly filled
//!
//! Edge cases: one expert has no imbalance; the estimate for random routing holds for means well above ln E.

use crate::collectives::{Link, all_to_all};
use crate::error::{InputError, at_least, count, not_negative};

/// How many copies of the model `total` devices hold.
///
/// # Errors
///
/// If a count is 0 or the devices do not suffice for one copy.
pub fn data_parallel(total: u64, tensor: u64, pipeline: u64, expert: u64) -> Result<u64, InputError> {
    count("devices", total)?;
    count("tensor-parallel devices", tensor)?;
    count("pipeline-parallel devices", pipeline)?;
    count("expert-parallel devices", expert)?;
    let of_copy = tensor.saturating_mul(pipeline).saturating_mul(expert);
    let degree = total / of_copy;
    count(
        format_args!("data-parallel degree, {total} devices / ({tensor} x {pipeline} x {expert} of one copy),"),
        degree,
    )?;
    Ok(degree)
}

/// Tokens of one device in one layer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tokens {
    /// t.
    pub tokens: f64,
    /// k.
    pub experts_each: f64,
    /// h.
    pub bytes: f64,
}

impl Tokens {
    /// Bytes that a device sends to experts, one way.
    ///
    /// # Errors
    ///
    /// If a figure is negative.
    pub fn message(&self) -> Result<f64, InputError> {
        let tokens = not_negative("tokens", self.tokens)? * not_negative("experts per token", self.experts_each)?;
        Ok(tokens * not_negative("bytes per token", self.bytes)?)
    }
}

/// Seconds of sending tokens to their experts and the results back, in `layers` layers; the fullest expert sets the
/// pace.
///
/// # Errors
///
/// If a figure is negative, the imbalance is below 1, or the link is refused.
pub fn exchange(tokens: &Tokens, expert: u64, layers: u64, imbalance: f64, link: &Link) -> Result<f64, InputError> {
    let imbalance = at_least("load imbalance", 1.0, imbalance)?;
    Ok(2.0 * layers as f64 * all_to_all(tokens.message()? * imbalance, expert, link)?)
}

/// Load of the fullest of `experts` experts over the mean, if `tokens` tokens go to random ones.
///
/// # Errors
///
/// If there is no expert or no token.
pub fn random_imbalance(tokens: f64, experts: u64) -> Result<f64, InputError> {
    let e = count("experts", experts)?;
    let mean = at_least("routed tokens", 1.0, tokens)? / e;
    Ok(1.0 + (2.0 * e.ln() * (1.0 - 1.0 / e) / mean).sqrt())
}

/// An imbalance that `experts` experts can have if each token goes to `each` of them: all tokens at one expert is the
/// most.
///
/// # Errors
///
/// If the imbalance is below 1, there are no experts, or a token goes to none or to more than there are.
pub fn bounded(imbalance: f64, experts: u64, each: u64) -> Result<f64, InputError> {
    let imbalance = at_least("load imbalance", 1.0, imbalance)?;
    let (e, k) = (count("experts", experts)?, count("experts per token", each)?);
    Ok(imbalance.min(at_least(format_args!("experts, of which a token goes to {each},"), k, e)? / k))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::{FORMULA, Random, close_to};

    #[test]
    fn published_degrees() {
        assert_eq!(data_parallel(256, 8, 4, 1).unwrap(), 8);
        let error = data_parallel(256, 8, 4, 16).unwrap_err().to_string();
        assert_eq!(error, "data-parallel degree, 256 devices / (8 x 4 x 16 of one copy), must be at least 1, is 0");
        assert_eq!(data_parallel(7, 2, 1, 1).unwrap(), 3);
    }

    #[test]
    fn the_exchange_is_two_all_to_alls_per_layer() {
        let link = Link { bandwidth: 50e9, latency: 500e-9 };
        let tokens = Tokens { tokens: 1e6, experts_each: 1.0, bytes: 1000.0 };
        close_to(exchange(&tokens, 8, 3, 1.0, &link).unwrap(), 6.0 * 0.0175035, FORMULA);
        assert_eq!(exchange(&tokens, 1, 3, 1.0, &link).unwrap(), 0.0);
        let uneven = exchange(&tokens, 8, 1, 2.0, &link).unwrap();
        close_to(uneven, 2.0 * (2.0 * 0.0175 + 7.0 * 500e-9), FORMULA);
        let error = exchange(&tokens, 8, 1, 0.5, &link).unwrap_err();
        assert_eq!(error.to_string(), "load imbalance must be at least 1, is 0.5");
    }

    /// Tokens go to random experts; the mean of the fullest over 200 tries is within 5 % of the estimate.
    #[test]
    fn random_routing_token_by_token() {
        let mut random = Random::new(28);
        for (tokens, experts) in [(4096usize, 8usize), (16384, 64), (65536, 128)] {
            let tries = 200;
            let mut sum = 0.0;
            for _ in 0..tries {
                let mut loads = vec![0u32; experts];
                (0..tokens).for_each(|_| loads[(random.unit() * experts as f64) as usize] += 1);
                sum += f64::from(*loads.iter().max().unwrap()) / (tokens as f64 / experts as f64);
            }
            close_to(random_imbalance(tokens as f64, experts as u64).unwrap(), sum / f64::from(tries), 0.05);
        }
        assert_eq!(random_imbalance(100.0, 1).unwrap(), 1.0);
    }

    /// `MoERoutingModel` of mlsysim: 8 experts, 2 per token, imbalance 1.5 are 3 experts at work; above 4 it is capped.
    #[test]
    fn no_expert_gets_a_token_twice() {
        assert_eq!(bounded(1.5, 8, 2).unwrap() * 2.0, 3.0);
        assert_eq!(bounded(7.0, 8, 2).unwrap() * 2.0, 8.0);
        let error = bounded(1.0, 2, 4).unwrap_err().to_string();
        assert_eq!(error, "experts, of which a token goes to 4, must be at least 4, is 2");
        // Token by token, each to two different experts and always to the first: the fullest has as much as can be.
        let (mut random, mut loads) = (Random::new(8), [0u32; 8]);
        for _ in 0..1000 {
            loads[0] += 1;
            loads[1 + (random.unit() * 7.0) as usize] += 1;
        }
        let mean = f64::from(loads.iter().sum::<u32>()) / 8.0;
        assert_eq!(f64::from(*loads.iter().max().unwrap()) / mean, bounded(100.0, 8, 2).unwrap());
    }
}
