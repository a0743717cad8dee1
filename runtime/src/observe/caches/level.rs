//! One level: its sets, and which line of a set leaves.

use super::geometry::{Geometry, Policy};
use crate::observe::writer::WriterNumber;

/// No line has this number: addresses are shifted.
const NONE: u64 = u64::MAX;

#[derive(Clone, Copy)]
struct Line {
    number: u64,
    /// Who wrote it last.
    writer: Option<WriterNumber>,
}

const EMPTY: Line = Line { number: NONE, writer: None };

pub struct Level {
    ways: usize,
    mask: u64,
    /// By sets; with LRU the one used last comes first in its set.
    lines: Vec<Line>,
    /// By sets: the tree, from bit 1 on; a bit that is set says that the upper half was used longer ago.
    trees: Option<Vec<u64>>,
}

impl Level {
    /// A geometry that is possible.
    pub fn new(geometry: &Geometry) -> Self {
        let (ways, sets) = (geometry.ways as usize, geometry.sets().unwrap_or(1));
        Self {
            ways,
            mask: sets - 1,
            lines: vec![EMPTY; ways * sets as usize],
            trees: (geometry.policy == Policy::TreePlru).then(|| vec![0; sets as usize]),
        }
    }

    fn set(&self, line: u64) -> usize {
        (line & self.mask) as usize
    }

    #[inline]
    fn find(&self, line: u64) -> Option<usize> {
        let start = self.set(line) * self.ways;
        self.lines[start..start + self.ways].iter().position(|other| other.number == line)
    }

    /// The line at a way of a set is the one used last.
    #[inline]
    fn used(&mut self, set: usize, way: usize) {
        let Some(trees) = &mut self.trees else {
            if way > 0 {
                self.lines[set * self.ways..][..=way].rotate_right(1);
            }
            return;
        };
        let mut node = 1;
        let mut half = self.ways / 2;
        while half > 0 {
            let is_upper = way & half > 0;
            trees[set] = trees[set] & !(1 << node) | u64::from(!is_upper) << node;
            node = 2 * node + usize::from(is_upper);
            half /= 2;
        }
    }

    /// Uses a line, if it is there.
    #[inline]
    pub fn touch(&mut self, line: u64) -> bool {
        let found = self.find(line);
        if let Some(way) = found {
            self.used(self.set(line), way);
        }
        found.is_some()
    }

    /// Puts a line in that is not there; gives the one that leaves, with who wrote it last.
    pub fn insert(&mut self, line: u64) -> Option<(u64, Option<WriterNumber>)> {
        let set = self.set(line);
        let lines = &mut self.lines[set * self.ways..][..self.ways];
        let free = lines.iter().position(|other| other.number == NONE);
        let way =
            free.unwrap_or_else(|| self.trees.as_ref().map_or(self.ways - 1, |trees| oldest(trees[set], self.ways)));
        let gone = std::mem::replace(&mut lines[way], Line { number: line, writer: None });
        self.used(set, way);
        (gone.number != NONE).then_some((gone.number, gone.writer))
    }

    /// A line is written, if it is there.
    #[inline]
    pub fn write(&mut self, line: u64, writer: WriterNumber) {
        if let Some(way) = self.find(line) {
            let at = self.set(line) * self.ways + way;
            self.lines[at].writer = Some(writer);
        }
    }

    /// Takes a line out, if it is there; gives who wrote it last.
    pub fn remove(&mut self, line: u64) -> Option<Option<WriterNumber>> {
        let at = self.set(line) * self.ways + self.find(line)?;
        Some(std::mem::replace(&mut self.lines[at], EMPTY).writer)
    }

    /// The lines that are dirty, and who wrote them last.
    pub fn dirty(&self) -> Vec<(u64, WriterNumber)> {
        self.lines.iter().filter_map(|line| Some((line.number, line.writer?))).collect()
    }

    pub fn heap_bytes(&self) -> u64 {
        let trees = self.trees.as_ref().map_or(0, Vec::len) * size_of::<u64>();
        (self.lines.len() * size_of::<Line>() + trees) as u64
    }
}

/// The way that a tree points at.
fn oldest(tree: u64, ways: usize) -> usize {
    let mut node = 1;
    while node < ways {
        node = 2 * node + (tree >> node & 1) as usize;
    }
    node - ways
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::held::tells_what_it_holds;

    #[test]
    fn a_level_tells_what_it_holds() {
        for policy in [Policy::Lru, Policy::TreePlru] {
            let geometry = Geometry { bytes: 1 << 20, ways: 2, line: 64, policy };
            tells_what_it_holds(|| Level::new(&geometry), Level::heap_bytes);
        }
    }
}
