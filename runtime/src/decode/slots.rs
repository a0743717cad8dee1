//! The variables on the stack of functions that run, so that they can end with frames that are left without a return.
//!
//! Takes variables as their lives start, those of a function in a row behind those of its caller; gives them again, and
//! says whether those of several frames can lie on one stack. Those that have ended since are kept until the function
//! ends: it does no harm if they end once more.

use serde::{Deserialize, Serialize};

/// Address and bytes.
type Slot = (u64, u64);

/// Variables of one function that are looked at for equal ones.
const MANY: usize = 64;

/// All variables, those of the outermost function first.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Slots {
    all: Vec<Slot>,
    /// How many variables of one function differed when they were looked at last.
    known: usize,
}

impl Slots {
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// A variable of the running function, whose first one has this number, starts its life.
    #[inline]
    pub fn hold(&mut self, first: usize, slot: Slot) {
        // Scopes within loops start the same lives over and over.
        if self.all.len() > first && self.all.last() == Some(&slot) {
            return;
        }
        self.all.push(slot);
        if self.all.len() - first >= MANY.max(2 * self.known) {
            self.tidy(first);
        }
    }

    /// Forgets repetitions.
    #[cold]
    fn tidy(&mut self, first: usize) {
        let mut own = self.all.split_off(first);
        own.sort_unstable();
        own.dedup();
        self.known = own.len();
        self.all.append(&mut own);
    }

    pub fn range(&self, range: std::ops::Range<usize>) -> impl Iterator<Item = Slot> {
        self.all[range].iter().copied()
    }

    /// Functions have ended.
    #[inline]
    pub fn truncate(&mut self, len: usize) {
        self.all.truncate(len);
    }
}

/// Bytes between the variables of two frames of one stack, at most: what has no variables' names lies there, such as
/// arrays of variable length. Stacks of other threads and of coroutines are further away than a stack has left.
const ROOM: u64 = 1 << 20;
/// Bytes for each frame without variables between two that have some, at most.
const ROOM_OF_FRAME: u64 = 1 << 12;

/// Frames that were called one by the other, on one stack.
pub struct Chain {
    /// Above the next frame.
    floor: u64,
    room: u64,
}

impl Chain {
    /// Those called by a frame whose bytes end above this address.
    pub fn below(floor: u64) -> Self {
        Self { floor, room: ROOM }
    }

    /// Those called by none.
    pub fn anywhere() -> Self {
        Self { floor: u64::MAX, room: u64::MAX }
    }

    /// Whether the next frame, which has these variables, may lie on the same stack.
    pub fn goes_on(&mut self, slots: impl Iterator<Item = Slot>) -> bool {
        let ends =
            |(low, high): (u64, u64), (address, len): Slot| (low.min(address), high.max(address.saturating_add(len)));
        let (low, high) = slots.fold((u64::MAX, 0), ends);
        if low > high {
            self.room = self.room.saturating_add(ROOM_OF_FRAME);
            return true;
        }
        if high > self.floor || self.floor - high > self.room {
            return false;
        }
        *self = Self::below(low);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_in_a_loop_are_kept_once() {
        let mut slots = Slots::default();
        slots.hold(0, (5000, 8));
        for turn in 0..100_000 {
            slots.hold(1, (1000 + turn % 100 * 8, 8));
        }
        assert!(slots.len() <= 1 + 200, "{}", slots.len());
        assert_eq!(slots.range(0..1).next(), Some((5000, 8)), "of another function");
        slots.tidy(1);
        assert_eq!(slots.len(), 101);
    }

    #[test]
    fn many_frames_without_variables_may_lie_in_between() {
        let far = |frames: usize, address: u64| {
            let mut chain = Chain::below(1 << 30);
            (0..frames).all(|_| chain.goes_on(std::iter::empty())) && chain.goes_on([(address, 8)].into_iter())
        };
        assert!(far(0, (1 << 30) - ROOM) && !far(0, (1 << 30) - 2 * ROOM));
        assert!(far(1000, (1 << 30) - 2 * ROOM));
    }
}
