//! Serving: requests that are read in one phase and answered step by step in another, with a state that grows.
//!
//! Takes the work and bytes of the phases (by formula or measured), the state, memory and rates; gives times to the
//! first and each further token, the state, the batch that memory allows, and throughput. Refuses rates that are not
//! positive, negative counts, a memory that holds not one request, and requests that are longer than the longest.
//!
//! Sources: mlsysim (Machine Learning Systems book), `math.qmd`; pages from its `ContinuousBatchingModel` after 0.1.2
//! (Kwon et al., PagedAttention, 2023), parts of a first phase from `ServingModel` of 0.1.2 (Agrawal et al.,
//! Sarathi-Serve, 2024).
//!
//! | symbol | meaning | unit |
//! |---|---|---|
//! | P, eta, BW | peak rate, attainable share, bandwidth of memory | op/s, 1, B/s |
//! | tax | fixed time per request | s |
//! | w | bytes of the model | B |
//!
//! * time to the first token `2 parameters tokens batch / (P eta) + tax`
//! * time per further token `(w + state) / BW`
//! * state `2 tokens batch hidden layers bytes`: keys and values; hidden = heads x size of a head, of the heads that
//!   are not shared
//! * batch limit `floor((memory - w) / state of one request)`
//! * state in pages of p tokens, k bytes per token: `floor((memory - w) / (k p E[ceil(S / p)]))` requests. Lengths are
//!   `S = min(X, longest)`, X exponential with the scale u that gives the mean ([`Lengths`]); then
//!   `E[ceil(S / p)] = (1 - exp(-K p / u)) / (1 - exp(-p / u))` with `K = ceil(longest / p)`; of one length it is
//!   `ceil(S / p)`. One slot of the longest each instead: `floor((memory - w) / (k longest))`
//! * the first phase in parts of c tokens: `ceil(tokens / c)` parts, the tax once for each; steps of others wait at
//!   most `(first - tax) min(c, tokens) / tokens + tax`
//! * measured instead: state per token is the slope of peak live bytes over the length ([`growth`])
//!
//! A later revision of the package adds `4 tokens^2 hidden layers` operations of attention and 10 us per layer; the
//! document's formula has neither. The document prints 540 GB for a state of 343.6 GB.

use crate::error::{InputError, at_least, at_most, count, efficiency, not_negative, positive, same_count};

/// What is kept per token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cache {
    /// How many layers keep some.
    pub layers: f64,
    /// Heads that are not shared, times the size of a head.
    pub hidden: f64,
    /// Bytes per element.
    pub element: f64,
}

impl Cache {
    /// Bytes per token of one request.
    ///
    /// # Errors
    ///
    /// If a figure is negative.
    pub fn per_token(&self) -> Result<f64, InputError> {
        let hidden = not_negative("hidden size", self.hidden)?;
        Ok(2.0 * hidden * not_negative("layers", self.layers)? * not_negative("bytes per element", self.element)?)
    }
}

/// Bytes of state of `batch` requests of `tokens` tokens.
///
/// # Errors
///
/// If a figure is negative.
pub fn state(per_token: f64, tokens: f64, batch: f64) -> Result<f64, InputError> {
    let tokens = not_negative("tokens", tokens)?;
    Ok(not_negative("state per token", per_token)? * tokens * not_negative("batch", batch)?)
}

/// Seconds until the first token of `batch` requests of `tokens` tokens.
///
/// # Errors
///
/// If the peak is not positive, the efficiency not a share, or a figure negative.
pub fn first_token(
    parameters: f64,
    tokens: f64,
    batch: f64,
    peak: f64,
    attainable: f64,
    tax: f64,
) -> Result<f64, InputError> {
    let work = 2.0 * not_negative("parameters", parameters)? * not_negative("tokens", tokens)?;
    let rate = positive("peak", peak)? * efficiency(attainable)?;
    Ok(work * not_negative("batch", batch)? / rate + not_negative("tax", tax)?)
}

/// Seconds per further token.
///
/// # Errors
///
/// If the bandwidth is not positive or a size is negative.
pub fn each_token(model: f64, state: f64, bandwidth: f64) -> Result<f64, InputError> {
    let bytes = not_negative("bytes of the model", model)? + not_negative("state", state)?;
    Ok(bytes / positive("bandwidth", bandwidth)?)
}

/// Most requests whose states have room beside the model; `u64::MAX` if they have no state.
///
/// # Errors
///
/// If a size is negative, or there is no room for one request.
pub fn batch_limit(memory: f64, model: f64, state: f64) -> Result<u64, InputError> {
    let memory = positive("memory", memory)?;
    let (model, state) = (not_negative("bytes of the model", model)?, not_negative("state", state)?);
    if model + state > memory {
        return Err(InputError::Memory { memory, needed: model + state });
    }
    Ok(((memory - model) / state).floor() as u64)
}

/// How long requests are, in tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lengths {
    /// On average.
    pub mean: f64,
    /// None is longer.
    pub longest: f64,
}

impl Lengths {
    /// u: the mean that exponential lengths would have if none were cut at the longest; infinite if all are the
    /// longest.
    ///
    /// # Errors
    ///
    /// If a length is not positive or the mean is above the longest.
    pub fn scale(&self) -> Result<f64, InputError> {
        let longest = positive("longest request", self.longest)?;
        let share = at_most("mean length", longest, positive("mean length", self.mean)?)? / longest;
        if share >= 1.0 {
            return Ok(f64::INFINITY);
        }
        // t = longest / u solves (1 - exp(-t)) / t = share; the left side falls from 1, and is below 1 / t.
        let (mut low, mut high) = (0.0, 1.0 / share);
        for _ in 0..100 {
            let middle = 0.5 * (low + high);
            if -f64::exp_m1(-middle) / middle > share {
                low = middle;
            } else {
                high = middle;
            }
        }
        Ok(longest / (0.5 * (low + high)))
    }

    /// `E[ceil(S / page)]`: pages of a request, on average.
    ///
    /// # Errors
    ///
    /// As for [`Lengths::scale`], and if there are no tokens in a page.
    pub fn pages(&self, page: u64) -> Result<f64, InputError> {
        let (scale, page) = (self.scale()?, count("tokens of a page", page)?);
        let most = (self.longest / page).ceil();
        if scale.is_infinite() {
            return Ok(most);
        }
        Ok(f64::exp_m1(-most * page / scale) / f64::exp_m1(-page / scale))
    }
}

/// How many requests have room, if each holds what it needs in whole pages.
///
/// # Errors
///
/// As for [`Lengths::pages`] and [`batch_limit`].
pub fn paged_limit(memory: f64, model: f64, per_token: f64, page: u64, lengths: &Lengths) -> Result<u64, InputError> {
    let request = not_negative("state per token", per_token)? * page as f64 * lengths.pages(page)?;
    let exact = batch_limit(memory, model, request)?;
    // What fits to the byte is not lost to rounding.
    let room = (memory - model) / request;
    Ok(if room.is_finite() { exact.max((room + 1e-9).floor() as u64) } else { exact })
}

/// A first phase in parts, between which steps of other requests run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parts {
    /// How many.
    pub count: f64,
    /// Seconds of all of them.
    pub all: f64,
    /// Seconds of the longest, which a step waits at most.
    pub longest: f64,
}

/// A first phase of `first` seconds, `tax` of them fixed, in parts of `part` of its `tokens` tokens.
///
/// # Errors
///
/// If there are no tokens, or a time is negative or shorter than its fixed part.
pub fn in_parts(first: f64, tax: f64, tokens: u64, part: u64) -> Result<Parts, InputError> {
    let (all, part) = (count("tokens", tokens)?, count("tokens of a part", part)?);
    let tax = not_negative("tax", tax)?;
    let work = at_least("time of the first phase", tax, first)? - tax;
    let parts = (all / part).ceil();
    Ok(Parts { count: parts, all: work + parts * tax, longest: work * part.min(all) / all + tax })
}

/// A line through measurements: `at_zero + slope * x`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    /// Value at x = 0.
    pub at_zero: f64,
    /// Growth per unit of x.
    pub slope: f64,
    /// Largest distance of a measurement from the line, as a part of the measurement.
    pub error: f64,
}

impl Line {
    /// The value at x.
    #[must_use]
    pub fn value_at(&self, x: f64) -> f64 {
        self.at_zero + self.slope * x
    }
}

/// How a figure grows with the length: the least-squares line through measurements at two or more lengths.
///
/// # Errors
///
/// If there are fewer than two different lengths, or not one measurement per length, or one is negative.
pub fn growth(lengths: &[f64], measured: &[f64]) -> Result<Line, InputError> {
    same_count("measurements per length", lengths.len(), measured.len())?;
    for (&length, &value) in lengths.iter().zip(measured) {
        not_negative("length", length)?;
        not_negative(format_args!("measurement at length {length}"), value)?;
    }
    let different = lengths.iter().filter(|l| **l != lengths[0]).count();
    at_least("different lengths", 2.0, if different > 0 { 2.0 } else { lengths.len().min(1) as f64 })?;
    let n = lengths.len() as f64;
    let mean = |list: &[f64]| list.iter().sum::<f64>() / n;
    let (x, y) = (mean(lengths), mean(measured));
    let pairs = || lengths.iter().zip(measured);
    let slope =
        pairs().map(|(a, b)| (a - x) * (b - y)).sum::<f64>() / lengths.iter().map(|a| (a - x).powi(2)).sum::<f64>();
    let line = Line { at_zero: y - slope * x, slope, error: 0.0 };
    let distance = |(a, b): (&f64, &f64)| if *b > 0.0 { (line.value_at(*a) - b).abs() / b } else { 0.0 };
    Ok(Line { error: pairs().map(distance).fold(0.0, f64::max), ..line })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::{FORMULA, Random, close_to};
    use proptest::prelude::*;

    const LLAMA: Cache = Cache { layers: 80.0, hidden: 8192.0, element: 2.0 };

    #[test]
    fn published_states() {
        let of = |cache: &Cache, tokens, batch| state(cache.per_token().unwrap(), tokens, batch).unwrap();
        assert_eq!(of(&LLAMA, 4096.0, 32.0), 343_597_383_680.0);
        assert_eq!(of(&LLAMA, 4096.0, 32.0) / f64::from(1 << 30), 320.0);
        // The 540 GB that the source prints need another batch.
        close_to(540e9 / of(&LLAMA, 4096.0, 1.0), 50.3, 1e-3);
        assert_eq!(of(&Cache { hidden: 1024.0, ..LLAMA }, 4096.0, 32.0), 42_949_672_960.0);
        let small = Cache { layers: 32.0, hidden: 32.0 * 128.0, element: 2.0 };
        assert_eq!(of(&small, 2048.0, 1.0), 1_073_741_824.0);
    }

    #[test]
    fn published_times() {
        let first = first_token(8.03e9, 2048.0, 1.0, 989e12, 0.5, 0.0).unwrap();
        close_to(first, 66.513407482e-3, FORMULA);
        close_to(first_token(8.03e9, 2048.0, 1.0, 989e12, 0.5, 10e-6).unwrap(), first + 10e-6, FORMULA);
        close_to(each_token(16.06e9, 268_435_456.0, 3.35e12).unwrap(), 4.874159838e-3, FORMULA);
        close_to(first_token(70e9, 4096.0, 32.0, 989e12, 0.5, 0.0).unwrap(), 37.108351871, FORMULA);
        close_to(each_token(140e9, 343_597_383_680.0, 3.35e12).unwrap(), 144.357427964e-3, FORMULA);
        close_to(each_token(140e9, 42_949_672_960.0, 3.35e12).unwrap(), 54.611842627e-3, FORMULA);
        // What a later revision of the package adds.
        close_to(4.0 * 2048f64.powi(2) * 4096.0 * 32.0 / (989e12 * 0.5), 4.446963e-3, 1e-6);
    }

    #[test]
    fn memory_limits_the_batch() {
        assert_eq!(batch_limit(80e9, 16e9, 10e9).unwrap(), 6);
        assert_eq!(batch_limit(80e9, 16e9, 0.0).unwrap(), u64::MAX);
        let error = batch_limit(80e9, 79e9, 2e9).unwrap_err().to_string();
        assert_eq!(error, "81000000000 B are needed at once, and the memory has 80000000000 B");
    }

    /// `calc_expected_paged_kv_tokens` and `ContinuousBatchingModel` of mlsysim 0.3.0.
    #[test]
    fn pages_of_the_source() {
        let of = |mean, longest, page| Lengths { mean, longest }.pages(page).unwrap() * page as f64;
        close_to(Lengths { mean: 512.0, longest: 4096.0 }.scale().unwrap(), 512.1722776224451, FORMULA);
        close_to(of(512.0, 4096.0, 16), 520.038947031188, FORMULA);
        close_to(of(512.0, 4096.0, 128), 578.6405756307646, FORMULA);
        close_to(of(2000.0, 8192.0, 16), 2007.8670459085047, FORMULA);
        close_to(of(300.0, 2048.0, 256), 445.80860232398385, FORMULA);
        assert_eq!(of(1000.0, 1000.0, 16), 1008.0);
        let memory = 80.0 * f64::from(1 << 30);
        let lengths = Lengths { mean: 1024.0, longest: 8192.0 };
        assert_eq!(paged_limit(memory, 16.06e9, 131_072.0, 16, &lengths).unwrap(), 516);
        assert_eq!(batch_limit(memory, 16.06e9, 131_072.0 * 8192.0).unwrap(), 65);
        let error = Lengths { mean: 2.0, longest: 1.0 }.pages(16).unwrap_err().to_string();
        assert_eq!(error, "mean length must be at most 1, is 2");
    }

    /// Requests of random lengths take pages from a pool until one finds too few left: on average as many as the
    /// formula has, within 2 %.
    #[test]
    fn pages_request_by_request() {
        let lengths = Lengths { mean: 500.0, longest: 2048.0 };
        let scale = lengths.scale().unwrap();
        for page in [16u64, 256] {
            let (mut random, tries, pool) = (Random::new(page), 200, 20_000.0);
            let mut admitted = 0.0;
            for _ in 0..tries {
                let mut left = pool;
                loop {
                    let tokens = random.exponential(scale).min(lengths.longest);
                    left -= (tokens / page as f64).ceil();
                    if left < 0.0 {
                        break;
                    }
                    admitted += 1.0;
                }
            }
            let formula = paged_limit(pool * page as f64, 0.0, 1.0, page, &lengths).unwrap();
            close_to(formula as f64, admitted / f64::from(tries), 0.02);
        }
    }

    /// `ServingModel` of mlsysim 0.3.0 without attention's operations: 8192 tokens in parts of 512 on an H100. By hand:
    /// 16 x 10 us beside 2 x 8.03e9 x 8192 / 494.5e12 s.
    #[test]
    fn parts_of_a_first_phase() {
        let first = first_token(8.03e9, 8192.0, 1.0, 989e12, 0.5, 10e-6).unwrap();
        let parts = in_parts(first, 10e-6, 8192, 512).unwrap();
        assert_eq!(parts.count, 16.0);
        close_to(parts.all, 2.0 * 8.03e9 * 8192.0 / 494.5e12 + 160e-6, FORMULA);
        close_to(parts.longest, 2.0 * 8.03e9 * 512.0 / 494.5e12 + 10e-6, FORMULA);
        // Part by part, the last one shorter.
        let (mut left, mut all, mut longest) = (1000u64, 0.0, 0.0f64);
        let first = first_token(8.03e9, 1000.0, 1.0, 989e12, 0.5, 10e-6).unwrap();
        while left > 0 {
            let tokens = left.min(512);
            let one = first_token(8.03e9, tokens as f64, 1.0, 989e12, 0.5, 10e-6).unwrap();
            (left, all, longest) = (left - tokens, all + one, longest.max(one));
        }
        let parts = in_parts(first, 10e-6, 1000, 512).unwrap();
        close_to(parts.all, all, FORMULA);
        close_to(parts.longest, longest, FORMULA);
        assert_eq!(in_parts(first, 10e-6, 1000, 4096).unwrap().longest, first);
    }

    #[test]
    fn states_grow_along_a_line() {
        let line = growth(&[16.0, 32.0, 64.0], &[1160.0, 1320.0, 1640.0]).unwrap();
        close_to(line.at_zero, 1000.0, FORMULA);
        close_to(line.slope, 10.0, FORMULA);
        assert!(line.error < 1e-12);
        assert!(growth(&[1.0, 2.0, 3.0], &[1.0, 2.0, 4.0]).unwrap().error > 0.05);
        let error = growth(&[16.0, 16.0], &[1.0, 2.0]).unwrap_err();
        assert_eq!(error.to_string(), "different lengths must be at least 2, is 1");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn longer_requests_take_longer_and_leave_less_room(tokens in 1.0f64..1e5, batch in 1.0f64..100.0) {
            let per_token = LLAMA.per_token().unwrap();
            let one = |t: f64| state(per_token, t, 1.0).unwrap();
            prop_assert!(one(tokens + 1.0) > one(tokens));
            let time = |t: f64, b: f64| first_token(7e9, t, b, 1e15, 0.5, 0.0).unwrap();
            prop_assert!(time(tokens + 1.0, batch) > time(tokens, batch) && time(tokens, batch + 1.0) > time(tokens, batch));
            let room = |t: f64| batch_limit(1e15, 0.0, one(t)).unwrap();
            prop_assert!(room(tokens * 2.0) <= room(tokens));
        }
    }
}
