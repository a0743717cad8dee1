//! What reads found on stacks of threads alone, beside those that they share: sums over cells.

use super::{depths::Depths, lines::LineSums};
use crate::profile::{
    Profile,
    model::{AloneCell, AloneLines, Cell, LineMoves, LineStreams},
};

/// Numbers that add; nothing where threads have only one stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AloneSums {
    pub cold: u64,
    pub cost: u128,
    pub depths: Depths,
    /// Of the lines that the profile shows.
    pub lines: LineSums,
}

/// What one cell found.
#[derive(Clone, Copy)]
pub struct AloneOf<'p> {
    found: Option<&'p AloneCell>,
    lines: Option<&'p LineMoves>,
    streams: Option<&'p LineStreams>,
}

impl<'p> AloneOf<'p> {
    #[must_use]
    pub fn new(profile: &'p Profile, cell: &Cell) -> Self {
        let alone = profile.stacks.as_ref().and_then(|stacks| stacks.alone.as_ref());
        let Some(alone) = alone else { return Self { found: None, lines: None, streams: None } };
        let key = (cell.context, cell.site);
        let found = alone.cells.binary_search_by_key(&key, |cell| (cell.context, cell.site)).ok();
        let of_lines = |lines: &'p AloneLines| {
            let at = lines.cells.binary_search_by_key(&key, |cell| (cell.context, cell.site)).ok()?;
            Some(&lines.cells[at].moved)
        };
        let of_streams = |lines: &'p AloneLines| {
            let at = lines.streams.binary_search_by_key(&key, |cell| (cell.context, cell.site)).ok()?;
            Some(&lines.streams[at].streams)
        };
        Self {
            found: found.map(|at| &alone.cells[at]),
            lines: alone.lines.first().and_then(of_lines),
            streams: alone.lines.first().and_then(of_streams),
        }
    }
}

impl AloneSums {
    pub fn add(&mut self, of: AloneOf<'_>) {
        if let Some(found) = of.found {
            self.cold += found.cold;
            self.cost += found.cost;
            self.depths.add(&found.histogram);
        }
        of.lines.into_iter().for_each(|lines| self.lines.add(lines));
        of.streams.into_iter().for_each(|streams| self.lines.add_streams(streams));
    }

    pub fn merge(&mut self, other: &Self) {
        self.cold += other.cold;
        self.cost += other.cost;
        self.depths.merge(&other.depths);
        self.lines.merge(&other.lines);
    }
}
