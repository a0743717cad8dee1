//! What a part of a run asked, answered by the stack before it (see `slice`).
//!
//! Takes what the part did not know, in order, and what it left; gives the depths of its loads. What is asked for
//! leaves the stack. Refuses, before it changes anything, positions that the cells are too narrow for.

use super::{
    access::Kind,
    boundary::{Between, Boundary, MissRequest, Row},
    cell::{BYTES, Cell, DEAD, FIRST, NEVER},
    report::Reports,
    shadow::page_room,
    stack::{Full, Stack, WINDOW},
};

/// What answers a part's questions to the stack before it.
pub struct Resolver<'a, C> {
    pub stack: &'a mut Stack<C>,
    pub out: &'a mut Reports,
}

impl<C: Cell> Resolver<'_, C> {
    /// Answers what a part asked, in order.
    #[inline(always)]
    pub fn resolve(&mut self, asks: &[MissRequest]) {
        let mut cells = [0; WINDOW];
        let mut start = 0;
        while start < asks.len() {
            let window = &asks[start..asks.len().min(start + WINDOW)];
            self.stack.fetch(window.iter().map(|ask| ask.addr), &mut cells);
            let mut at = 0;
            while at < window.len() {
                let first = start + at;
                // Accesses of several parts may go on behind the window.
                let group = 1 + asks[first + 1..].iter().take_while(|ask| ask.joined).count();
                if asks[first].kind == Kind::Remove {
                    self.stack.mover().remove(asks[first].addr, asks[first].len.into());
                } else if group > 1 || !self.short(cells[at], &asks[first]) {
                    self.group(&asks[first..first + group]);
                }
                at += group;
            }
            start += at;
        }
    }

    /// Up to 64 bytes that were last used together, or that are dead: parts of a cell, and whole cells.
    #[inline(always)]
    fn short(&mut self, cell: usize, ask: &MissRequest) -> bool {
        let len = u64::from(ask.len);
        let Some((span, first)) = self.stack.shadow.short_run(cell, ask.addr, len) else { return false };
        if ask.kind == Kind::Load {
            self.out.begin(ask.label);
        }
        if first >= FIRST {
            let above = ask.above + self.stack.order.take(first, len);
            if ask.kind == Kind::Load {
                self.out.warm(above, len);
            }
            self.sink(ask, first, len);
        } else {
            if self.stack.slice.is_some() {
                self.ask_again(ask, ask.addr, len, false);
            } else if ask.kind == Kind::Load {
                self.out.cold(ask.above + self.stack.order.live(), len);
                self.out.below_holes(ask.holes + self.stack.order.holes.count(), len);
            }
            self.stack.order.enter_holes(len - len.min(ask.holes));
            self.stack.footprint += if first == NEVER { len } else { 0 };
        }
        if first != DEAD {
            self.stack.shadow.cells.set_dead(span);
        }
        self.stack.count_block(ask.above + len + self.stack.order.live(), 0);
        true
    }

    /// Bytes that were asked for were at consecutive positions: they leave holes for those that they fill.
    #[inline(always)]
    fn sink(&mut self, ask: &MissRequest, position: u64, len: u64) {
        if ask.holes == 0 && !self.stack.order.holes.is_above(position) {
            return;
        }
        if ask.kind == Kind::Load {
            self.out.below_holes(ask.holes + self.stack.order.holes.above(position), len);
        }
        self.stack.order.holes.sink(position, len, ask.holes, self.stack.order.time.limit());
    }

    /// Any access, which may be asked for in parts.
    #[inline(always)]
    fn group(&mut self, group: &[MissRequest]) {
        let MissRequest { above, holes, label, kind, .. } = group[0];
        let (mut runs, mut known) = (std::mem::take(&mut self.stack.runs), Vec::new());
        let (mut unknown, mut new, mut all, is_part) = (0, 0, 0, self.stack.slice.is_some());
        self.out.begin(label);
        // All depths before anything leaves.
        for ask in group.iter().filter(|_| kind == Kind::Load || is_part) {
            self.stack.shadow.gather(ask.addr, ask.len.into(), &mut runs);
            let mut at = ask.addr;
            for run in runs.drain(..) {
                if run.value < FIRST {
                    if is_part {
                        self.ask_again(&group[0], at, run.len, unknown > 0);
                    } else {
                        self.out.cold(above + self.stack.order.live() + unknown, run.len);
                        self.out.below_holes(holes + self.stack.order.holes.count(), run.len);
                    }
                    unknown += run.len;
                } else if kind == Kind::Load {
                    self.out.warm(above + self.stack.order.above(run.value + run.len - 1), run.len);
                    self.out.below_holes(holes + self.stack.order.holes.above(run.value), run.len);
                }
                at = at.wrapping_add(run.len);
            }
        }
        for ask in group {
            self.stack.shadow.gather(ask.addr, ask.len.into(), &mut runs);
            for run in runs.drain(..) {
                if run.value >= FIRST {
                    self.stack.order.time.clear(run.value, run.len);
                    known.push(run);
                } else {
                    new += run.len;
                }
                self.stack.footprint += if run.value == NEVER { run.len } else { 0 };
            }
            self.stack.shadow.bury(ask.addr, ask.len.into());
            all += u64::from(ask.len);
        }
        self.stack.runs = runs;
        self.stack.order.sink_runs(&mut known, new, holes);
        self.stack.count_block(above + all + self.stack.order.live(), 0);
    }

    /// Asks for bytes of an access of a part behind this one, which this one does not know either.
    fn ask_again(&mut self, ask: &MissRequest, addr: u64, len: u64, joined: bool) {
        let (above, holes) = (ask.above + self.stack.order.live(), ask.holes + self.stack.order.holes.count());
        // They are part of what was asked for, so the length fits.
        let again = MissRequest { addr, above, holes, len: len as u32, joined, ..*ask };
        self.stack.mover().tell(|slice| slice.asks.push(again));
    }
}

impl<C: Cell> Stack<C> {
    /// Does what happened between what a part asked.
    pub fn resolve_between(&mut self, what: Between) -> Result<(), Full> {
        match what {
            Between::Relocate { from, to, len } => self.mover().relocate(from, to, len),
            Between::Left { addr, len } => self.shadow.forget(addr, len, |value| value == DEAD),
            Between::Arrived { addr, len } => self.shadow.bury(addr, len),
            Between::Input { addr, len, above } if self.slice.is_some() => self.mover().insert_below(addr, len, above),
            Between::Input { addr, len, above } => {
                self.insert_bottom(addr, len)?;
                self.count_block(above + self.order.live(), 0);
            }
            Between::Output { .. } => {}
        }
        if let Between::Left { .. } | Between::Arrived { .. } | Between::Output { .. } = what {
            self.mover().tell(|slice| slice.add_between(what));
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
        for &Row { addr, mut below } in &part.rows {
            below.first += bottom;
            self.shadow.assign_row(addr, below);
        }
        Ok(())
    }
}
