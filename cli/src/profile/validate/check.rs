//! What contradicts what in a profile, and the checks that others are made of.

use std::fmt::Display;

use dmdprof_runtime::histogram::BUCKETS;

use crate::profile::model::{Counts, Histogram};

/// What contradicts what.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0}")]
pub struct Invalid(pub(super) String);

pub(super) type Check = Result<(), Invalid>;

pub(super) fn ensure(condition: bool, message: impl FnOnce() -> String) -> Check {
    if condition { Ok(()) } else { Err(Invalid(message())) }
}

pub(super) fn in_range(index: usize, len: usize, what: impl FnOnce() -> String, table: &str) -> Check {
    ensure(index < len, || format!("{} is {index}, but there are {len} {table}", what()))
}

/// Bytes in all, if the buckets are sorted, in range and not zero, and no byte needs less room than its depth.
pub(super) fn histogram_total(histogram: &Histogram, what: impl Fn() -> String) -> Result<u128, Invalid> {
    let total = counts_total(&histogram.depths, &what)?;
    let Some(capacities) = &histogram.capacities else { return Ok(total) };
    let by_capacity = counts_total(capacities, &what)?;
    let mut nearer = 0i128;
    let depths = histogram.depths.iter().map(|(bucket, bytes)| (*bucket, i128::from(*bytes)));
    let capacities = capacities.iter().map(|(bucket, bytes)| (*bucket, -i128::from(*bytes)));
    let mut both: Vec<(u16, i128)> = depths.chain(capacities).collect();
    both.sort_by_key(|(bucket, bytes)| (*bucket, std::cmp::Reverse(*bytes)));
    let is_below = both.iter().all(|(_, bytes)| {
        nearer += bytes;
        nearer >= 0
    });
    ensure(by_capacity == total && is_below, || {
        format!("{} has capacities that are no deeper than its depths", what())
    })?;
    Ok(total)
}

fn counts_total(counts: &Counts, what: impl Fn() -> String) -> Result<u128, Invalid> {
    for pair in counts.windows(2) {
        ensure(pair[0].0 < pair[1].0, || format!("{} is not sorted", what()))?;
    }
    let mut total = 0u128;
    for (bucket, bytes) in counts {
        in_range(usize::from(*bucket), BUCKETS, || format!("a bucket of {}", what()), "buckets")?;
        ensure(*bytes > 0, || format!("{} has an empty bucket", what()))?;
        total += u128::from(*bytes);
    }
    Ok(total)
}

pub(super) fn same<T: PartialEq + Display>(what: &str, parts: T, total: T) -> Check {
    ensure(parts == total, || format!("{what} of all cells add up to {parts}, but the total says {total}"))
}
