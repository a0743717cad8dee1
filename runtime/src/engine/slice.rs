//! A part of a run on a stack of its own, and what it needs of the stack before it.
//!
//! A stack that begins in the middle of a run knows exactly what lies above the bytes that were touched since. Whatever
//! it does not know, it asks for: first touches, and ends of bytes that it has not seen, in their order and with the
//! number of bytes and of free places that lay on it then ([`Boundary`]). The stack before it answers by and by
//! (`resolve`): bytes that are asked for lie below all of the part's, and are the part's from then on. In the end the
//! part's bytes go on top, in their order.
//!
//! The stack before may itself be that of a part. What it does not have either, it asks for in its turn, so that two
//! neighbouring parts become one.
//!
//! Takes and gives boundaries. Refuses, before it changes anything, positions that the cells are too narrow for.

use super::{
    access::Kind,
    boundary::{Between, Boundary, MissRequest, Row},
    cell::{BYTES, Cell, DEAD, FIRST, NEVER},
    progression::Progression,
    report::Reports,
    shadow::{Run, Span, page_room, set_row_at},
    stack::{Full, Stack, WINDOW},
};

/// A part's side.
impl<C: Cell> Stack<C> {
    /// The bytes leave the stack, this one or that before it. Those that are marked as dead here are not on that before
    /// it.
    #[inline(never)]
    pub(super) fn remove_from_slice(&mut self, addr: u64, len: u64) {
        if len == 0 {
            return;
        }
        let cell = self.shadow.regions.find(addr);
        if len > page_room(addr) || !self.shadow.is_present(cell) {
            self.tell(|slice| slice.remove(addr, len));
            return self.remove_known(addr, len);
        }
        let mut runs = std::mem::take(&mut self.runs);
        self.shadow.gather(addr, len, &mut runs);
        let mut at = addr;
        for run in runs.drain(..) {
            if run.value >= FIRST {
                self.order.end(run);
            } else if run.value == NEVER {
                self.tell(|slice| slice.remove(at, run.len));
            }
            at += run.len;
        }
        self.runs = runs;
        self.shadow.end(addr, len, |_| DEAD);
    }

    fn tell(&mut self, what: impl FnOnce(&mut Boundary)) {
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
                    stack.tell(|slice| slice.add_between(what(at, len)));
                }
                at = at.wrapping_add(len);
            }
        };
        tell_live(self, from, |addr, len| Between::Left { addr, len });
        self.tell(|slice| slice.add_between(Between::Relocate { from, to, len }));
        tell_live(self, to, |addr, len| Between::Arrived { addr, len });
        self.relocate_known(from, to, len);
        self.shadow.forget_dead(to, len);
    }

    /// Bytes enter below everything, unless they are on one of the stacks; so many are on that of a part behind.
    pub(super) fn insert_below_slice(&mut self, addr: u64, len: u64, behind: u64) {
        let mut runs = Vec::new();
        self.shadow.gather(addr, len, &mut runs);
        let (above, mut end) = (behind + self.order.live(), addr.wrapping_add(len));
        // Each goes below what is there, so the lowest is last.
        for run in runs.iter().rev() {
            end = end.wrapping_sub(run.len);
            if run.value < FIRST {
                self.tell(|slice| slice.add_between(Between::Input { addr: end, len: run.len, above }));
            }
        }
        self.shadow.forget_dead(addr, len);
    }

    /// Bytes are needed by somebody else. A part tells it, as it may not know them.
    pub fn output(&mut self, addr: u64, len: u64) {
        if len > 0 {
            self.tell(|slice| slice.add_between(Between::Output { addr, len }));
        }
    }

    /// Ends a part: gives what it asked and what is on its stack, and forgets everything. The next one begins.
    #[inline(always)]
    pub fn end_slice_here(&mut self) -> Boundary {
        let mut boundary = self.slice.replace(Box::default()).map_or_else(Boundary::default, |slice| *slice);
        self.shadow.drain(&self.order.packed(0), &mut boundary);
        self.order.drain(&mut boundary.holes);
        boundary
    }
}

/// The side of the stack before a part.
impl<C: Cell> Stack<C> {
    /// Answers what a part asked, in order.
    #[inline(always)]
    pub fn resolve_here(&mut self, asks: &[MissRequest], out: &mut Reports) {
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
                if asks[first].kind == Kind::Remove {
                    self.remove(asks[first].addr, asks[first].len.into());
                } else if group > 1 || !self.resolve_run(cells[at], &asks[first], out) {
                    self.resolve_group(&asks[first..first + group], out);
                }
                at += group;
            }
            start += at;
        }
    }

    /// Up to 64 bytes that were last used together, or that are dead: parts of a cell, and whole cells.
    #[inline(always)]
    fn resolve_run(&mut self, cell: usize, ask: &MissRequest, out: &mut Reports) -> bool {
        let len = u64::from(ask.len);
        let Some(span) = Span::short(cell, ask.addr, len).filter(|_| self.shadow.is_present(cell)) else {
            return false;
        };
        let Some(first) = self.shadow.cells.run_of(span) else { return false };
        if ask.kind == Kind::Load {
            out.begin(ask.label);
        }
        if first >= FIRST {
            let above = ask.above + self.order.take(first, len);
            if ask.kind == Kind::Load {
                out.warm(above, len);
            }
            self.sink_asked(ask, first, len, out);
        } else {
            if self.slice.is_some() {
                self.ask_again(ask, ask.addr, len, false);
            } else if ask.kind == Kind::Load {
                out.cold(ask.above + self.order.live(), len);
                out.below_holes(ask.holes + self.order.holes.count(), len);
            }
            self.order.enter_holes(len - len.min(ask.holes));
            self.footprint += if first == NEVER { len } else { 0 };
        }
        if first != DEAD {
            self.shadow.cells.set_dead(span);
        }
        self.count_block(ask.above + len + self.order.live(), 0);
        true
    }

    /// Bytes that were asked for were at consecutive positions: they leave holes for those that they fill.
    #[inline(always)]
    fn sink_asked(&mut self, ask: &MissRequest, position: u64, len: u64, out: &mut Reports) {
        if ask.holes == 0 && !self.order.holes.is_above(position) {
            return;
        }
        if ask.kind == Kind::Load {
            out.below_holes(ask.holes + self.order.holes.above(position), len);
        }
        self.order.holes.sink(position, len, ask.holes, self.order.time.limit());
    }

    /// Any access, which may be asked for in parts.
    #[inline(always)]
    fn resolve_group(&mut self, group: &[MissRequest], out: &mut Reports) {
        let MissRequest { above, holes, label, kind, .. } = group[0];
        let (mut runs, mut known) = (std::mem::take(&mut self.runs), Vec::new());
        let (mut unknown, mut new, mut all, is_part) = (0, 0, 0, self.slice.is_some());
        out.begin(label);
        // All depths before anything leaves.
        for ask in group.iter().filter(|_| kind == Kind::Load || is_part) {
            self.shadow.gather(ask.addr, ask.len.into(), &mut runs);
            let mut at = ask.addr;
            for run in runs.drain(..) {
                if run.value < FIRST {
                    if is_part {
                        self.ask_again(&group[0], at, run.len, unknown > 0);
                    } else {
                        out.cold(above + self.order.live() + unknown, run.len);
                        out.below_holes(holes + self.order.holes.count(), run.len);
                    }
                    unknown += run.len;
                } else if kind == Kind::Load {
                    out.warm(above + self.order.above(run.value + run.len - 1), run.len);
                    out.below_holes(holes + self.order.holes.above(run.value), run.len);
                }
                at = at.wrapping_add(run.len);
            }
        }
        for ask in group {
            self.shadow.gather(ask.addr, ask.len.into(), &mut runs);
            for run in runs.drain(..) {
                if run.value >= FIRST {
                    self.order.time.clear(run.value, run.len);
                    known.push(run);
                } else {
                    new += run.len;
                }
                self.footprint += if run.value == NEVER { run.len } else { 0 };
            }
            self.shadow.bury(ask.addr, ask.len.into());
            all += u64::from(ask.len);
        }
        self.runs = runs;
        self.order.sink_runs(&mut known, new, holes);
        self.count_block(above + all + self.order.live(), 0);
    }

    /// Asks for bytes of an access of a part behind this one, which this one does not know either.
    fn ask_again(&mut self, ask: &MissRequest, addr: u64, len: u64, joined: bool) {
        let (above, holes) = (ask.above + self.order.live(), ask.holes + self.order.holes.count());
        // They are part of what was asked for, so the length fits.
        self.tell(|slice| slice.asks.push(MissRequest { addr, above, holes, len: len as u32, joined, ..*ask }));
    }

    /// Does what happened between what a part asked.
    pub fn resolve_between(&mut self, what: Between) -> Result<(), Full> {
        if self.slice.is_some() {
            match what {
                Between::Relocate { from, to, len } => self.relocate_in_slice(from, to, len),
                Between::Left { addr, len } => self.shadow.forget_dead(addr, len),
                Between::Arrived { addr, len } => self.shadow.bury(addr, len),
                Between::Input { addr, len, above } => self.insert_below_slice(addr, len, above),
                Between::Output { .. } => {}
            }
            if let Between::Left { .. } | Between::Arrived { .. } | Between::Output { .. } = what {
                self.tell(|slice| slice.add_between(what));
            }
            return Ok(());
        }
        match what {
            Between::Relocate { from, to, len } => self.relocate_known(from, to, len),
            Between::Left { addr, len } => self.shadow.forget_dead(addr, len),
            Between::Arrived { addr, len } => self.shadow.bury(addr, len),
            Between::Input { addr, len, above } => {
                self.insert_bottom(addr, len)?;
                self.count_block(above + self.order.live(), 0);
            }
            Between::Output { .. } => {}
        }
        Ok(())
    }

    /// Puts on the top what a part left, unless the cells are too narrow.
    #[inline(always)]
    pub fn take_over_here(&mut self, part: &Boundary) -> Result<(), Full> {
        let places = part.left_places();
        self.make_room(places)?;
        let bottom = self.order.append(places, &part.holes);
        let mut cells = [0; WINDOW];
        for window in part.left.chunks(WINDOW) {
            self.fetch(window.iter().map(|piece| piece.addr), &mut cells);
            for (&piece, &cell) in window.iter().zip(&cells) {
                let (addr, len, position) = (piece.addr, piece.len(), bottom + piece.below());
                let is_word = len == 8 && addr.is_multiple_of(BYTES) && page_room(addr) >= 8;
                if is_word && self.shadow.is_present(cell) && self.shadow.cells.pair(cell) == (DEAD, DEAD) {
                    self.shadow.cells.set_pair(cell, position);
                } else {
                    self.shadow.assign(addr, len, position);
                }
            }
        }
        part.rows.iter().for_each(|row| self.take_over_row(row, bottom));
        Ok(())
    }

    #[inline(always)]
    fn take_over_row(&mut self, &Row { addr, mut below }: &Row, bottom: u64) {
        below.first += bottom;
        let mut left = Progression { first: addr, step: below.width as i64, ..below };
        while left.count > 0 {
            let words = (page_room(left.first) / below.width).min(left.count);
            let cell = self.shadow.make(left.first);
            if words == 0 || !set_row_at(&mut self.shadow.cells.values, cell, below.take(words)) {
                for (addr, position) in left.take(words.max(1)).each().zip(below.each()) {
                    self.shadow.assign(addr, below.width, position);
                }
            }
            (left, below) = (left.skip(words.max(1)), below.skip(words.max(1)));
        }
    }
}
