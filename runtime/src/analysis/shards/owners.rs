//! Numbers of their own for the cells of all parts of a ring.
//!
//! Who observes beside the engine remembers who wrote a line last, or brought it in: a cell of some part. Takes cells
//! of parts, gives each a number behind those of who observed before the first slice; files what was counted by these
//! numbers. Refuses nothing.

use crate::{counts::cell::CellCounters, decode::block::CellNumber};

pub struct Owners {
    /// Cells that have the first numbers.
    own: usize,
    /// By part: the numbers of its cells, of those that have one.
    numbers: Vec<Vec<Option<CellNumber>>>,
    /// The part and the cell of each number behind the first ones.
    owners: Vec<(usize, CellNumber)>,
}

impl Owners {
    /// Behind so many cells.
    pub fn new(own: usize) -> Self {
        Self { own, numbers: Vec::new(), owners: Vec::new() }
    }

    /// The numbers of a part's cells.
    pub fn numbers_for(&mut self, part: usize) -> impl FnMut(CellNumber) -> CellNumber + '_ {
        let Self { own, numbers, owners } = self;
        numbers.resize_with(numbers.len().max(part + 1), Vec::new);
        let numbers = &mut numbers[part];
        move |cell| {
            numbers.resize(numbers.len().max(cell.index() + 1), None);
            *numbers[cell.index()].get_or_insert_with(|| {
                owners.push((part, cell));
                CellNumber::new(*own + owners.len() - 1)
            })
        }
    }

    /// Counters for all numbers.
    #[must_use]
    pub fn counters(&self) -> Vec<CellCounters> {
        let mut all = Vec::new();
        all.resize_with(self.own + self.owners.len(), CellCounters::default);
        all
    }

    /// Files such counters with the cells that have the first numbers; `file` takes the rest, by part and cell.
    pub fn file(
        &self,
        mut all: Vec<CellCounters>,
        own: &mut [CellCounters],
        mut file: impl FnMut(usize, CellNumber, &mut CellCounters),
    ) {
        let (first, later) = all.split_at_mut(self.own);
        own.iter_mut().zip(first).for_each(|(cell, found)| cell.merge(found));
        self.owners.iter().zip(later).for_each(|(&(part, cell), found)| file(part, cell, found));
    }

    /// The cell that has one of these numbers, where `numbers` says by part which ones its cells have now.
    #[must_use]
    pub fn resolved(&self, cell: CellNumber, numbers: &[Vec<CellNumber>]) -> CellNumber {
        let owner = cell.index().checked_sub(self.own).and_then(|at| self.owners.get(at));
        owner.map_or(cell, |(part, cell)| numbers[*part][cell.index()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::writer::UNKNOWN;

    /// Behind 3 cells: cells 2 and 0 of part 1, then cell 2 of part 0.
    fn owners() -> Owners {
        let mut owners = Owners::new(3);
        let mut numbers = |part, cells: &[usize]| -> Vec<usize> {
            let mut number = owners.numbers_for(part);
            cells.iter().map(|cell| number(CellNumber::new(*cell)).index()).collect()
        };
        assert_eq!(numbers(1, &[2, 0, 2]), [3, 4, 3]);
        assert_eq!(numbers(0, &[2]), [5], "another part's");
        assert_eq!(numbers(1, &[0, 2]), [4, 3], "they keep them");
        owners
    }

    #[test]
    fn what_was_counted_goes_to_the_cells_that_have_the_numbers() {
        let owners = owners();
        let mut all = owners.counters();
        assert_eq!(all.len(), 6);
        all.iter_mut().zip(0..).for_each(|(cell, number)| cell.written = 1 << number);
        let mut own: Vec<CellCounters> = vec![CellCounters::default(); 4];
        own[1].written = 100;
        let mut filed = Vec::new();
        owners.file(all, &mut own, |part, cell, found| filed.push((part, cell.index(), found.written)));
        assert_eq!(own.iter().map(|cell| cell.written).collect::<Vec<_>>(), [1, 102, 4, 0]);
        assert_eq!(filed, [(1, 2, 8), (1, 0, 16), (0, 2, 32)]);
    }

    #[test]
    fn a_number_stands_for_the_cell_that_has_it_in_the_end() {
        let numbers = [[7, 8, 9], [4, 5, 6]].map(|part| part.map(CellNumber::new).to_vec());
        let resolved = |number| owners().resolved(CellNumber::new(number), &numbers).index();
        assert_eq!([0, 2, 3, 4, 5].map(resolved), [0, 2, 6, 4, 9]);
        assert_eq!(owners().resolved(UNKNOWN, &numbers), UNKNOWN, "nobody");
    }
}
