//! What a person asks of a sample.
//!
//! Takes `1/N`, gives the design. Refuses rates that mean nothing, with those that do.

use clap::Args;
use dmdprof_runtime::observe::sample::{Design, RATES};

/// What to draw if only `--sample` is said.
const USUAL: &str = "1/64";

/// What needs an exact analysis, or its profile.
const NEEDS_ALL: [&str; 15] = [
    "output",
    "quiet",
    "html",
    "flows",
    "flow_contexts",
    "window",
    "line",
    "line_size",
    "cache",
    "sequence",
    "inclusive",
    "hist",
    "by_thread",
    "fields",
    "sort",
];

/// What to draw.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Sample options")]
pub struct SampleArgs {
    /// Estimate costs from a sample that looks at one in N of the lines and of the time [without =1/N: 1/64]; prints
    /// estimates with their intervals, and writes no profile
    #[arg(long, value_name = "1/N", num_args = 0..=1, require_equals = true, default_missing_value = USUAL)]
    #[arg(value_parser = parse_rate, conflicts_with_all = NEEDS_ALL)]
    pub sample: Option<u32>,

    /// With --sample: which sample; the same number gives the same
    #[arg(long, value_name = "N", requires = "sample", default_value_t = 1)]
    pub seed: u64,
}

impl SampleArgs {
    /// What to draw, if that was asked for.
    #[must_use]
    pub fn design(&self) -> Option<Design> {
        self.sample.map(|one_in| Design::new(one_in, self.seed))
    }
}

/// One in how many.
///
/// # Errors
/// What it must be.
fn parse_rate(text: &str) -> Result<u32, String> {
    let (least, most) = (RATES.start(), RATES.end());
    let one_in = text.strip_prefix("1/").and_then(|one_in| one_in.parse().ok());
    match one_in {
        Some(one_in) if RATES.contains(&one_in) => Ok(one_in),
        Some(1) => Err("everything is an exact analysis: leave --sample out".into()),
        _ => Err(format!("expected a part from 1/{least} to 1/{most}, as in {USUAL}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_parts() {
        assert_eq!(parse_rate("1/64"), Ok(64));
        assert_eq!((parse_rate("1/2"), parse_rate("1/256")), (Ok(2), Ok(256)));
        for wrong in ["0", "1/0", "2", "1/257", "0.5", "1/-3", "64", "", "1/64x", "-1/64"] {
            assert!(parse_rate(wrong).is_err_and(|error| error.contains("1/2 to 1/256")), "{wrong}");
        }
        assert!(parse_rate("1/1").is_err_and(|error| error.contains("leave --sample out")));
    }
}
