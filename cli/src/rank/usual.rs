//! What a variant costs on a usual processor core, in cycles: its instructions, and the lines that usual levels of
//! caches move.
//!
//! Takes what was measured of a program with lines; gives one number for comparisons, not a time. Refuses nothing:
//! without lines there is none.
//!
//! `cycles = operations / 4 + accesses / 2 + sum over levels of lines moved x cycles per line`. A core of today issues
//! about four simple operations and two accesses in a cycle. What a line costs is its transfer where many of them are
//! under way at once: 16 bytes a cycle from a second level, 64 bytes in 12 cycles from a third, and 64 bytes in 40
//! cycles from memory (some 5 GB/s of a core at 3 GHz). These are round numbers for cores made since 2015 or so,
//! taken from no pair of variants; a machine file says better what one machine does.
//!
//! Not in it: latencies that a chain of dependent loads waits for, misses of the address translation, sets and ways,
//! mispredicted branches, and what prefetching hides. `docs/rank.md` says how often that matters.

use crate::estimate::subject::Subject;

/// A capacity in bytes, and the cycles of a line that goes over the link behind it.
pub const LEVELS: [(u64, f64); 3] = [(32 << 10, 4.0), (1 << 20, 12.0), (32 << 20, 40.0)];
const OPERATIONS_PER_CYCLE: f64 = 4.0;
const ACCESSES_PER_CYCLE: f64 = 2.0;
/// What the cycles of a line were said for.
const LINE: f64 = 64.0;

/// Cycles of a program; `None` if lines were not measured.
#[must_use]
pub fn cycles(program: &Subject) -> Option<f64> {
    if !program.has_lines() {
        return None;
    }
    let moved = |(capacity, cycles): (u64, f64)| program.traffic(capacity) as f64 / LINE * cycles;
    let issued =
        program.sums.all_ops() as f64 / OPERATIONS_PER_CYCLE + program.sums.accesses() as f64 / ACCESSES_PER_CYCLE;
    Some(issued + LEVELS.into_iter().map(moved).sum::<f64>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::subject::Subjects;
    use crate::profile::Profile;
    use crate::profile::model::{AccessKind, LineCounts};
    use crate::profile::sample::Builder;
    use crate::report::Grouping;

    #[test]
    fn instructions_and_lines_add_up() {
        let mut b = Builder::new(&["p"]);
        let f = b.function("f", None, 0);
        let site = b.site(f, None, AccessKind::Load, 8);
        let context = b.context(Builder::ROOT, f, 1);
        b.cell(context, site, &[(1, 80)], &[], 0);
        let plain = b.finish(|_| ());
        let program = |profile: &Profile| Subjects::of(profile, Grouping::Functions, false).program;
        assert_eq!(cycles(&program(&plain)), None);
        let mut measured = plain.clone();
        let moved = LineCounts { first_loads: 3, last_write_backs: 1, ..LineCounts::default() };
        measured.cells[0].lines = Some([moved].into());
        measured.line_sizes = vec![64];
        let program = program(&measured);
        let issued = program.sums.accesses() as f64 / 2.0 + program.sums.all_ops() as f64 / 4.0;
        assert_eq!(cycles(&program), Some(issued + 4.0 * (4.0 + 12.0 + 40.0)));
    }
}
