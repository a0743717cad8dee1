//! The backward sweep: for every access, which of its bytes die there.
//!
//! Takes the blocks of one ring from the last to the first, gives [`Marks`] for each. A byte dies at an access if the
//! next event of the byte is a store, a death or the end of the run; then nobody reads again what the access left
//! there. The sweep holds one bit per byte, set where the next event is a read ([`Bits`]).

use super::{
    affine::Run,
    bits::{Bits, low_ones},
    marks::{Fate, Marks, Segment},
};
use crate::{
    engine::{Access, Kind, Stream, clamped},
    oplog::{Op, Ops},
};

/// Most streams of a run.
pub const MOST_STREAMS: usize = 64;

/// Most iterations of an affine run that are looked up together, and fewest that are worth it.
const LONGEST: u64 = 1024;
const LEAST_SEGMENT: u64 = 8;

/// The state of a sweep.
pub struct Sweep {
    bits: Bits,
    /// Affine runs by rows of words, where that is possible.
    in_rows: bool,
    /// Room for the rows of a run, which fill it; nobody reads it later.
    masks: Vec<u64>,
}

impl Sweep {
    /// At the end of the run: nothing is read again but what was declared to be output.
    #[must_use]
    pub fn new(outputs: &[(u64, u64)]) -> Self {
        let mut sweep = Self { bits: Bits::default(), in_rows: true, masks: Vec::new() };
        for &(addr, len) in outputs {
            sweep.bits.set(addr, len);
        }
        sweep
    }

    /// A sweep from the end of the run that takes all runs apart.
    #[cfg(test)]
    pub fn access_by_access(outputs: &[(u64, u64)]) -> Self {
        Self { in_rows: false, ..Self::new(outputs) }
    }

    #[must_use]
    pub fn heap_bytes(&self) -> u64 {
        self.bits.heap_bytes()
    }

    /// Goes back over a block.
    pub fn block(&mut self, ops: &Ops, marks: &mut Marks) {
        marks.clear();
        for op in ops.each().rev() {
            match op {
                Op::Accesses { accesses, .. } => self.accesses(accesses, marks),
                Op::Run { streams, iterations, .. } => self.run(streams, iterations, marks),
                Op::Move { from, to, len } => self.bits.unmove(from, to, len),
                Op::Input { addr, len } => self.needed(addr, len, marks),
                Op::Output { addr, len } => {
                    self.needed(addr, len, marks);
                    self.bits.set(addr, len);
                }
                Op::Life(_) | Op::Sync(_) => {}
            }
        }
        marks.turn_around();
    }

    fn accesses(&mut self, accesses: &[Access], marks: &mut Marks) {
        for &Access { addr, len, kind } in accesses.iter().rev() {
            let fate = match kind {
                Kind::Load | Kind::Last => self.access::<true>(addr, len, marks),
                Kind::Store | Kind::Fresh => self.access::<false>(addr, len, marks),
                Kind::Remove => {
                    self.bits.clear(addr, u64::from(len));
                    Fate::Kept
                }
            };
            marks.fates.push(fate as u8);
        }
    }

    /// One access; what it does to its bytes' past is to need them (`LOAD`), or not.
    #[inline]
    fn access<const LOAD: bool>(&mut self, addr: u64, len: u32, marks: &mut Marks) -> Fate {
        let len = clamped(addr, u64::from(len));
        if len == 0 || len > 64 {
            return self.long_access::<LOAD>(addr, len, marks);
        }
        let live = self.bits.exchange::<LOAD>(addr, len);
        let fate = Fate::of_live(live, low_ones(len));
        if fate == Fate::Mixed {
            marks.masks.push(live);
        }
        fate
    }

    #[cold]
    fn long_access<const LOAD: bool>(&mut self, addr: u64, len: u64, marks: &mut Marks) -> Fate {
        let first = marks.masks.len();
        let (mut all_kept, mut all_dead) = (true, true);
        for start in (0..len).step_by(64) {
            let part = (len - start).min(64);
            let live = self.bits.exchange::<LOAD>(addr + start, part);
            all_kept &= live == low_ones(part);
            all_dead &= live == 0;
            marks.masks.push(live);
        }
        if all_kept || all_dead {
            marks.masks.truncate(first);
            return if all_kept { Fate::Kept } else { Fate::Dead };
        }
        // The block's masks are turned around at its end.
        marks.masks[first..].reverse();
        Fate::Mixed
    }

    fn run(&mut self, streams: &[Stream], iterations: u64, marks: &mut Marks) {
        assert!(streams.len() <= MOST_STREAMS, "a bit per stream");
        let first = marks.segments.len();
        let mut masks = std::mem::take(&mut self.masks);
        let mut run = if self.in_rows { Run::new(streams, iterations, &mut masks) } else { None };
        // Those at the end are done singly, as is what fares alike for a few iterations only.
        let (mut end, mut singly) = (iterations, run.as_ref().map_or(iterations, |run| run.tail()));
        let mut longest = LONGEST;
        while end > 0 {
            if singly > 0 {
                let segment = self.iteration(streams, end as i64 - 1, marks);
                marks.add(first, segment);
                (end, singly) = (end - 1, singly - 1);
                continue;
            }
            let Some(run) = &mut run else { break };
            match run.segment(&mut self.bits, end, longest) {
                Some(segment) => {
                    run.undo(&mut self.bits, end - segment.iterations, end);
                    end -= segment.iterations;
                    marks.add(first, segment);
                    let is_long = segment.iterations >= LEAST_SEGMENT;
                    longest = if is_long { LONGEST } else { LEAST_SEGMENT };
                    singly = if is_long { 0 } else { LEAST_SEGMENT };
                }
                None => singly = LEAST_SEGMENT,
            }
        }
        self.masks = masks;
    }

    /// One iteration of a run.
    fn iteration(&mut self, streams: &[Stream], iteration: i64, marks: &mut Marks) -> Segment {
        let mut segment = Segment { iterations: 1, ..Segment::default() };
        for (number, stream) in streams.iter().enumerate().rev() {
            let addr = stream.addr.wrapping_add_signed(stream.stride.wrapping_mul(iteration));
            let fate = match stream.kind {
                Kind::Load | Kind::Last => self.access::<true>(addr, stream.len, marks),
                _ => self.access::<false>(addr, stream.len, marks),
            };
            segment.dead |= u64::from(fate == Fate::Dead) << number;
            segment.mixed |= u64::from(fate == Fate::Mixed) << number;
        }
        segment
    }

    fn needed(&mut self, addr: u64, len: u64, marks: &mut Marks) {
        let runs = self.bits.runs(addr, len);
        marks.range_counts.push(runs.len() as u64);
        marks.ranges.extend(runs.into_iter().rev());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::held::tells_what_it_holds;

    #[test]
    fn a_sweep_tells_what_it_holds() {
        tells_what_it_holds(|| Sweep::new(&[(1 << 30, 1 << 24)]), Sweep::heap_bytes);
    }
}
