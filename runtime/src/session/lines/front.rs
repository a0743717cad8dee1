//! The lines that were used last, in order, with what is known of each; found by comparing with all of them.
//!
//! Most accesses are to one of these. The stack below does not hold them, so that an access to one of them does not concern it.

/// Lines in front.
pub const FRONT: usize = 8;

/// Whether a line is dirty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Who wrote it last, plus one; 0 if nobody did.
    writer: u32,
    /// Bucket of the greatest depth at which it was found since then, plus one; 0 if it has always been in front.
    deepest: u16,
}

impl State {
    /// It was found at a depth of this bucket.
    #[inline]
    pub fn deepest(&mut self, bucket: u16) {
        self.deepest = self.deepest.max(bucket + 1);
    }

    /// Who has it written back when it is written again, and from which depth on.
    #[inline]
    pub fn write_back(self) -> Option<(u32, u16)> {
        Some((self.writer.checked_sub(1)?, self.deepest.checked_sub(1)?))
    }

    /// Who wrote it last.
    pub fn owner(&self) -> Option<u32> {
        self.writer.checked_sub(1)
    }
}

/// No line has this number: addresses are shifted.
const NONE: u64 = u64::MAX;

pub struct Front {
    /// The last one first.
    lines: [u64; FRONT],
    states: [State; FRONT],
}

impl Default for Front {
    fn default() -> Self {
        Self { lines: [NONE; FRONT], states: [State::default(); FRONT] }
    }
}

impl Front {
    #[inline(always)]
    pub fn find(&self, line: u64) -> Option<usize> {
        if self.lines[0] == line {
            return Some(0);
        }
        // All at once, without a branch for each.
        let found = self.lines.iter().zip(0u32..).fold(0u32, |found, (&l, at)| found | u32::from(l == line) << at);
        (found != 0).then(|| found.trailing_zeros() as usize)
    }

    /// The line at a place comes first.
    #[inline(always)]
    pub fn raise(&mut self, at: usize) {
        if at > 0 {
            self.lines[..=at].rotate_right(1);
            self.states[..=at].rotate_right(1);
        }
    }

    /// Puts a line first; gives the one that has no place any more.
    pub fn push(&mut self, line: u64, state: State) -> Option<(u64, State)> {
        let left = (self.lines[FRONT - 1], self.states[FRONT - 1]);
        self.lines.copy_within(..FRONT - 1, 1);
        self.states.copy_within(..FRONT - 1, 1);
        (self.lines[0], self.states[0]) = (line, state);
        (left.0 != NONE).then_some(left)
    }

    /// The first line is written; gives what it was before.
    #[inline(always)]
    pub fn write(&mut self, writer: u32) -> State {
        std::mem::replace(&mut self.states[0], State { writer: writer.saturating_add(1), deepest: 0 })
    }

    pub fn all(&self) -> impl Iterator<Item = (u64, State)> {
        self.lines.into_iter().zip(self.states).filter(|(line, _)| *line != NONE)
    }
}
