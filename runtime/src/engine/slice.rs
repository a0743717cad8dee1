//! A part of a run on a stack of its own, and what it needs of the stack before it.
//!
//! A stack that begins in the middle of a run knows exactly what lies above the bytes that were touched since. Whatever it does
//! not know, it asks for: first touches, and ends of bytes that it has not seen, in their order and with the number of bytes
//! that lay on it then ([`Frontier`]). The stack before it answers by and by (`settle`): bytes that are asked for lie below
//! all of the part's, and are the part's from then on. In the end the part's bytes go on top, in their order.
//!
//! Takes and gives frontiers. Refuses, before it changes anything, positions that the cells are too narrow for.

use super::{
    access::Kind,
    cell::{BYTES, Cell, DEAD, FIRST, NEVER, is_position},
    report::Reports,
    shadow::{Run, page_room},
    stack::{Full, Stack, WINDOW},
    timeline::Rank,
};

/// Bytes that a part of a run touched or removed, and did not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    pub addr: u64,
    /// Bytes of the part that were on its stack before this access.
    pub above: u64,
    pub len: u32,
    /// Of a load.
    pub label: u32,
    /// A load, a store or a removal.
    pub kind: Kind,
    /// It is of the same access as the one before.
    pub joined: bool,
}

/// What else happened, between what was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Between {
    Relocate {
        from: u64,
        to: u64,
        len: u64,
    },
    /// Bytes of the part go away from here, as if they had never been touched.
    Left {
        addr: u64,
        len: u64,
    },
    /// Bytes of the part have come here.
    Arrived {
        addr: u64,
        len: u64,
    },
    /// Bytes that are not on the part's stack enter below everything.
    Input {
        addr: u64,
        len: u64,
        above: u64,
    },
}

/// Bytes at the end of a part, from one address on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    pub addr: u64,
    pub len: u64,
}

/// All that the stack before a part of a run needs to know of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frontier {
    pub asks: Vec<Ask>,
    /// With the number of asks before it.
    pub between: Vec<(usize, Between)>,
    /// What is on the part's stack in the end, from the bottom up.
    pub left: Vec<Piece>,
}

impl Frontier {
    #[inline(always)]
    pub(super) fn ask<const LOAD: bool>(&mut self, addr: u64, len: u64, above: u64, label: u32) {
        self.ask_part::<LOAD>(addr, len, above, label, false);
    }

    /// Asks for a part of an access, of which others were asked for before if it is `joined`.
    #[inline(always)]
    pub(super) fn ask_part<const LOAD: bool>(
        &mut self,
        mut addr: u64,
        mut len: u64,
        above: u64,
        label: u32,
        mut joined: bool,
    ) {
        let kind = if LOAD { Kind::Load } else { Kind::Store };
        while len > 0 {
            let part = len.min(u64::from(u32::MAX));
            self.asks.push(Ask { addr, above, len: part as u32, label, kind, joined });
            (addr, len, joined) = (addr.wrapping_add(part), len - part, true);
        }
    }

    fn remove(&mut self, mut addr: u64, mut len: u64) {
        while len > 0 {
            let part = len.min(u64::from(u32::MAX));
            self.asks.push(Ask { addr, above: 0, len: part as u32, label: 0, kind: Kind::Remove, joined: false });
            (addr, len) = (addr.wrapping_add(part), len - part);
        }
    }

    fn note(&mut self, what: Between) {
        self.between.push((self.asks.len(), what));
    }
}

/// A part's side.
impl<C: Cell> Stack<C> {
    /// The bytes leave the stack, this one or that before it. Those that are marked as dead here are not on that before it.
    #[inline(never)]
    pub(super) fn remove_from_slice(&mut self, addr: u64, len: u64) {
        if len == 0 {
            return;
        }
        let cell = self.shadow.find(addr);
        if len > page_room(addr) || !self.shadow.is_present(cell) {
            self.tell(|slice| slice.remove(addr, len));
            return self.remove_known(addr, len);
        }
        let mut runs = std::mem::take(&mut self.runs);
        self.shadow.gather(addr, len, &mut runs);
        let mut at = addr;
        for run in runs.drain(..) {
            if run.value >= FIRST {
                self.time.clear(run.value, run.len);
            } else if run.value == NEVER {
                self.tell(|slice| slice.remove(at, run.len));
            }
            at += run.len;
        }
        self.runs = runs;
        self.shadow.end(addr, len, |_| DEAD);
    }

    fn tell(&mut self, what: impl FnOnce(&mut Frontier)) {
        if let Some(slice) = &mut self.slice {
            what(slice);
        }
    }

    /// Bytes move, those of the stack before this one too.
    pub(super) fn relocate_in_slice(&mut self, from: u64, to: u64, len: u64) {
        let mut runs = Vec::new();
        self.shadow.gather(from, len, &mut runs);
        let tell_live = |stack: &mut Self, mut at: u64, what: fn(u64, u64) -> Between| {
            for &Run { value, len } in &runs {
                if value >= FIRST {
                    stack.tell(|slice| slice.note(what(at, len)));
                }
                at = at.wrapping_add(len);
            }
        };
        tell_live(self, from, |addr, len| Between::Left { addr, len });
        self.tell(|slice| slice.note(Between::Relocate { from, to, len }));
        tell_live(self, to, |addr, len| Between::Arrived { addr, len });
        self.relocate_known(from, to, len);
        self.forget_dead(to, len);
    }

    /// Bytes enter below everything, unless they are on one of the stacks.
    pub(super) fn insert_below_slice(&mut self, addr: u64, len: u64) {
        let mut runs = Vec::new();
        self.shadow.gather(addr, len, &mut runs);
        let (above, mut end) = (self.live(), addr.wrapping_add(len));
        // Each goes below what is there, so the lowest is last.
        for run in runs.iter().rev() {
            end = end.wrapping_sub(run.len);
            if run.value < FIRST {
                self.tell(|slice| slice.note(Between::Input { addr: end, len: run.len, above }));
            }
        }
        self.forget_dead(addr, len);
    }

    /// The stack before may have something there again.
    fn forget_dead(&mut self, addr: u64, len: u64) {
        let after = |value| if value == DEAD { NEVER } else { value };
        self.each_present(addr, len, |stack, addr, len| stack.shadow.end(addr, len, after));
        self.each_few(addr, len, |stack, addr, len| stack.shadow.end(addr, len, after));
    }

    /// Ends a part: gives what it asked and what is on its stack, and forgets everything. The next one begins.
    pub fn end_slice(&mut self) -> Frontier {
        let mut runs = Vec::new();
        self.shadow.drain(&mut runs);
        runs.sort_unstable();
        self.time.reset(FIRST + self.options.min_positions + 192, 0, 0);
        let mut frontier = self.slice.replace(Box::default()).map_or_else(Frontier::default, |slice| *slice);
        frontier.left.extend(runs.into_iter().map(|(_, addr, len)| Piece { addr, len }));
        frontier
    }
}

/// The side of the stack before a part.
impl<C: Cell> Stack<C> {
    /// Answers what a part asked, in order.
    #[inline(always)]
    pub fn settle_here(&mut self, asks: &[Ask], out: &mut Reports) {
        let mut cells = [0; WINDOW];
        let mut start = 0;
        while start < asks.len() {
            let window = &asks[start..asks.len().min(start + WINDOW)];
            self.fetch(window.iter().map(|ask| ask.addr), &mut cells);
            let mut at = 0;
            while at < window.len() {
                let first = start + at;
                // Accesses of several parts may go on behind the window.
                let group = 1 + asks[first + 1..].iter().take_while(|ask| ask.joined).count();
                if group > 1 || !self.settle_word(cells[at], &asks[first], out) {
                    self.settle_group(&asks[first..first + group], out);
                }
                at += group;
            }
            start += at;
        }
    }

    /// Words that were last used together, and words that are dead.
    #[inline(always)]
    fn settle_word(&mut self, cell: usize, ask: &Ask, out: &mut Reports) -> bool {
        let len = u64::from(ask.len);
        if ask.kind == Kind::Remove || !ask.addr.is_multiple_of(BYTES) {
            return false;
        }
        let first = match len {
            8 if page_room(ask.addr) >= 8 => {
                let (first, second) = self.shadow.pair(cell);
                let step = if first >= FIRST { BYTES } else { 0 };
                if second != first + step {
                    return false;
                }
                first
            }
            4 => self.shadow.cell(cell),
            _ => return false,
        };
        let (is_live, is_load) = (is_position::<C>(first), ask.kind == Kind::Load);
        if is_live && first % 64 + len <= 64 {
            let above = ask.above + self.time.lift(first, len);
            if is_load {
                out.begin(ask.label);
                out.warm(above, len);
            }
            self.shadow.set_row_dead(cell, len);
        } else if first == DEAD {
            if is_load {
                out.begin(ask.label);
                out.cold(ask.above + self.live(), len);
            }
        } else {
            return false;
        }
        self.note(ask.above + len + self.live(), 0);
        true
    }

    /// Any access, which may be asked for in parts.
    #[inline(never)]
    fn settle_group(&mut self, group: &[Ask], out: &mut Reports) {
        if group[0].kind == Kind::Remove {
            return self.remove_known(group[0].addr, u64::from(group[0].len));
        }
        let (above, is_load) = (group[0].above, group[0].kind == Kind::Load);
        let mut runs = std::mem::take(&mut self.runs);
        let (mut cold, mut all) = (0, 0);
        out.begin(group[0].label);
        for ask in group {
            let first = runs.len();
            // Runs of two parts must stay two.
            let mut own = Vec::new();
            self.shadow.gather(ask.addr, ask.len.into(), &mut own);
            runs.append(&mut own);
            for run in &runs[first..] {
                let is_live = run.value >= FIRST;
                if is_load && is_live {
                    out.warm(above + self.live() - self.time.rank(run.value + run.len - 1), run.len);
                } else if is_load {
                    out.cold(above + self.live() + cold, run.len);
                }
                cold += if is_live { 0 } else { run.len };
                all += run.len;
            }
        }
        for run in runs.drain(..) {
            if run.value >= FIRST {
                self.time.clear(run.value, run.len);
            }
        }
        self.runs = runs;
        for ask in group {
            let untouched = self.shadow.bury(ask.addr, ask.len.into());
            self.note(0, untouched);
        }
        self.note(above + all + self.live(), 0);
    }

    /// Does what happened between what a part asked.
    pub fn settle_between(&mut self, what: Between) -> Result<(), Full> {
        match what {
            Between::Relocate { from, to, len } => self.relocate_known(from, to, len),
            Between::Left { addr, len } => self.forget_dead(addr, len),
            Between::Arrived { addr, len } => _ = self.shadow.bury(addr, len),
            Between::Input { addr, len, above } => {
                self.insert_bottom(addr, len)?;
                self.note(above + self.live(), 0);
            }
        }
        Ok(())
    }

    /// Puts on the top what a part left; gives the number of pieces done, which is all unless the cells are too narrow.
    #[inline(always)]
    pub fn take_over_here(&mut self, left: &[Piece]) -> usize {
        let mut cells = [0; WINDOW];
        for (number, window) in left.chunks(WINDOW).enumerate() {
            self.fetch(window.iter().map(|piece| piece.addr), &mut cells);
            for (at, (&Piece { addr, len }, &cell)) in window.iter().zip(&cells).enumerate() {
                if self.make_room(len).is_err() {
                    return number * WINDOW + at;
                }
                let position = self.time.append(len);
                let is_word = len == 8 && addr.is_multiple_of(BYTES) && page_room(addr) >= 8;
                if is_word && self.shadow.is_present(cell) && self.shadow.pair(cell) == (DEAD, DEAD) {
                    self.shadow.set_pair(cell, position);
                } else {
                    self.shadow.assign(addr, len, position);
                }
            }
        }
        left.len()
    }
}
