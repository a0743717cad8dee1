//! Capacities of memories that fetch the least possible, as the command line names them: sizes, or a machine.
//!
//! Takes text, gives capacities in bytes, ascending. Refuses, with what to write instead, sizes at which the report
//! does not know exactly what LRU fetches, and more of them than are followed at once.

use std::collections::BTreeSet;

use dmdprof_runtime::histogram::{bounds, bucket_of};

use crate::{
    machine::Places,
    shared::{human, quantity::parse_size},
};

/// Those of a plain `--optimum`: like a first, a second and a third level of caches.
pub const DEFAULT_CAPACITIES: &str = "32KiB,1MiB,32MiB";
/// Memories that are followed at once, at most.
pub const MOST: usize = 8;

const FORM: &str = "write sizes, as in 32KiB,1MiB, or a machine, as in zen2-7452-core";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capacities(pub Vec<u64>);

/// The capacities that a text names.
///
/// # Errors
/// What is wrong with it.
pub fn parse(text: &str) -> Result<Capacities, String> {
    let is_machine = !text.starts_with(|c: char| c.is_ascii_digit());
    let all: BTreeSet<u64> = if is_machine { of_machine(text)? } else { sizes(text)? };
    if all.len() > MOST {
        return Err(format!("{} capacities, and {MOST} at most are followed at once", all.len()));
    }
    Ok(Capacities(all.into_iter().collect()))
}

fn sizes(text: &str) -> Result<BTreeSet<u64>, String> {
    let mut all = BTreeSet::new();
    for word in text.split(',').map(str::trim) {
        let size = parse_size(word).map_err(|why| format!("{word:?}: {why}; {FORM}"))?;
        let below = told_apart(size);
        if below < size {
            return Err(format!(
                "{word:?}: depths are not told apart there; {} is, as are all powers of two and n times a power of two \
                 with n below 64",
                human::bytes(below.into())
            ));
        }
        if !all.insert(size) {
            return Err(format!("{word:?} is named twice"));
        }
    }
    Ok(all)
}

/// The largest capacity up to this one at which depths are told apart.
fn told_apart(size: u64) -> u64 {
    let (low, high) = bounds(bucket_of(size));
    if high == size { size } else { low - 1 }
}

/// The levels of a machine, as far as depths are told apart there.
fn of_machine(name: &str) -> Result<BTreeSet<u64>, String> {
    let found = Places::from_env().find(name.trim()).map_err(|error| format!("{error}\n  or {FORM}"))?;
    let levels = found.machine.levels.iter().map(|level| level.capacity.value as u64).filter(|&bytes| bytes > 0);
    let all: BTreeSet<u64> = levels.map(told_apart).filter(|&bytes| bytes > 0).collect();
    if all.is_empty() {
        return Err(format!("machine {} states no levels; {FORM}", found.machine.name));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capacities_are_sizes_or_those_of_a_machine() {
        let of = |text: &str| parse(text).map(|capacities| capacities.0);
        assert_eq!(of(DEFAULT_CAPACITIES), Ok(vec![32 << 10, 1 << 20, 32 << 20]));
        assert_eq!(of("1MiB, 48KiB,7"), Ok(vec![7, 48 << 10, 1 << 20]));
        assert!(of("zen2-7452-core").is_ok_and(|all| all.contains(&(32 << 10)) && all.is_sorted()));
        for (text, why) in [
            ("33000", "32.0 KiB is, as are"),
            ("0", "at least 1 B"),
            ("1MiB,1024KiB", "named twice"),
            ("1,2,3,4,5,6,7,8,9", "8 at most"),
            ("4KiB,", "write sizes"),
            ("no-such-machine", "write sizes"),
        ] {
            let refused = of(text).expect_err(text);
            assert!(refused.contains(why), "{text}: {refused}");
        }
    }
}
