//! A cache of sets, whose lines are in the order of their last use.

/// Bytes of a line, as a power of two.
pub const LINE: u32 = 6;

/// A line that no address has.
const NONE: u64 = u64::MAX;

/// Lines, and when they are there.
pub struct Cache {
    sets: u64,
    ways: usize,
    /// By set, the newest first: line, and the time from which on it is there.
    lines: Box<[(u64, u64)]>,
}

impl Cache {
    /// Of so many KiB.
    pub fn new(kib: u64, ways: u64) -> Self {
        Self::with_sets(kib * 1024 / 64 / ways.max(1), ways)
    }

    pub fn with_sets(sets: u64, ways: u64) -> Self {
        let (sets, ways) = (sets.max(1), ways.max(1) as usize);
        Self { sets, ways, lines: vec![(NONE, 0); sets as usize * ways].into() }
    }

    #[inline(always)]
    fn set(&mut self, line: u64) -> &mut [(u64, u64)] {
        // Sizes are mostly powers of two, and a division is slow.
        let set = if self.sets.is_power_of_two() { line & (self.sets - 1) } else { line % self.sets } as usize;
        &mut self.lines[set * self.ways..][..self.ways]
    }

    /// When a line is there, if it is in the cache; it is the newest then.
    #[inline(always)]
    pub fn find(&mut self, line: u64) -> Option<u64> {
        let set = self.set(line);
        if set[0].0 == line {
            return Some(set[0].1);
        }
        let at = set.iter().position(|(known, _)| *known == line)?;
        set[..=at].rotate_right(1);
        Some(set[0].1)
    }

    /// When the line is there that leaves for another: one that is under way cannot leave.
    pub fn has_room(&mut self, line: u64) -> u64 {
        self.set(line).last().map_or(0, |oldest| oldest.1)
    }

    /// Takes a line in, in the place of the oldest.
    pub fn insert_line(&mut self, line: u64, ready: u64) {
        let set = self.set(line);
        set.rotate_right(1);
        set[0] = (line, ready);
    }

    /// Gives up all lines of which that is so.
    pub fn drop_all(&mut self, is_gone: impl Fn(u64) -> bool) {
        self.lines.iter_mut().filter(|(line, _)| *line != NONE && is_gone(*line)).for_each(|place| *place = (NONE, 0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_line_of_a_set_leaves() {
        let mut cache = Cache::with_sets(2, 2);
        [0, 2, 1].into_iter().for_each(|line| cache.insert_line(line, line));
        assert_eq!(cache.find(0), Some(0));
        cache.insert_line(4, 4);
        assert_eq!([0, 1, 2, 4].map(|line| cache.find(line)), [Some(0), Some(1), None, Some(4)]);
    }

    #[test]
    fn the_oldest_of_one_set_leaves_whatever_its_number() {
        let mut first = Cache::with_sets(1, 2);
        let mut find = |page| {
            let is_known = first.find(page).is_some();
            if !is_known {
                first.insert_line(page, 0);
            }
            is_known
        };
        assert_eq!([1, 2, 1, 3, 1, 2].map(&mut find), [false, false, true, false, true, false]);
    }
}
