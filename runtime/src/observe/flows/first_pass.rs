//! What a slice of a run makes of bytes, in the first of two passes over it.
//!
//! Takes the ends and moves of bytes beside their states; gives what the slices behind need to know ([`Touched`]).
//! Refuses nothing.

use super::states::{NOBODY, States};
use crate::shadow::{PAGE, Shadow};

/// Bytes that are noted one by one when their lives end; of more, only that it was so.
const FEW: u64 = 4 * PAGE as u64;

/// What happens to bytes whether the slice has touched them or not.
#[derive(Clone, Copy, Debug)]
pub(super) enum Happened {
    Ended { address: u64, len: u64 },
    Moved { from: u64, to: u64, len: u64 },
}

/// What is kept of the slice at hand, beside states: bytes that it has not touched have none.
#[derive(Debug, Default)]
pub(super) struct FirstPass {
    /// Ranges that it touched, and that are not what they were any more.
    pub touched: Vec<(u64, u64)>,
    pub happened: Vec<Happened>,
}

/// What a slice made of bytes.
#[derive(Debug)]
pub struct Touched {
    /// Ranges that it touched, beside those of `left`.
    pub(super) before: Vec<(u64, u64)>,
    pub(super) happened: Vec<Happened>,
    /// In the end, of those that it touched since they moved.
    pub(super) left: States,
}

impl FirstPass {
    /// Lives of bytes end, or start again as inputs.
    pub(super) fn end(&mut self, states: &mut Shadow, address: u64, len: u64) {
        if len <= FEW {
            return states.fill(address, len, NOBODY);
        }
        self.note_touched(states, address, len);
        states.forget(address, len);
        self.happened.push(Happened::Ended { address, len });
    }

    pub(super) fn relocate(&mut self, states: &mut Shadow, from: u64, to: u64, len: u64) {
        self.touched.push((from, len));
        self.note_touched(states, to, len);
        states.relocate(from, to, len);
        self.happened.push(Happened::Moved { from, to, len });
    }

    fn note_touched(&mut self, states: &mut Shadow, address: u64, len: u64) {
        states.each_run(address, len, |_, first, len| self.touched.push((first, len)));
    }
}
