//! Sampled analysis: the exact depths of some windows of a thread's accesses, and for all the others only what is needed to price
//! the next window.
//!
//! Time is cut into strata of `every` windows; one window of each, at a random place, is measured. Between windows every access
//! only says that its bytes were touched in this epoch (`recency`). Within a window an engine that started empty knows the exact
//! depths of bytes touched since; a byte touched before the window lies below all bytes of later epochs and somewhere in its own,
//! and as epochs become short towards a window, that is a narrow range, in which a place is drawn at random.
//!
//! Reads of *old* bytes, which nothing touched for as long as windows are apart, are few and cost much, and some programs have
//! them all in a moment. They are noticed wherever they are, all are counted, and a part of them is priced by epochs.
//!
//! Exact are all counts, bytes read and written, first touches with their depths, peak and footprint, and everything of the first
//! [`WHOLE`] accesses of a thread. Estimated are the depths of other reads ([`estimate`]). Places of windows and draws come from a
//! fixed sequence: the same accesses give the same numbers.

mod counts;
pub mod estimate;
mod recency;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use super::{
    UNCOUNTED,
    counters::{CellCounters, DepthCounts},
    fast_paths::FastPaths,
    hash::FastHash,
};
use crate::{
    engine::{Access, DepthSink, Engine, Kind, Stream},
    pricing::run_cost,
};
use recency::{Last, Recency, Touched};

/// Accesses of a window.
const WINDOW: u64 = 1024;
/// Accesses from the start of a thread that are all measured, so that short threads are exact.
pub const WHOLE: u64 = 1 << 16;
/// An epoch is as long as the time to the next window over this, and no shorter than `SHORTEST`.
const EPOCHS: u64 = 16;
const SHORTEST: u64 = 64;
/// Of reads of old bytes by one cell, the first so many are priced, and then one for each that this many times as many follow upon.
const OLD_READS: u64 = 256;
/// Reads of so many bytes (blocks of copies, widest vectors) are noticed like those of old bytes, whatever they read: a program may
/// have few of them, all in a moment, that cost much.
const LONG: u64 = 64;
/// More ranges than this are not taken out of the engine one by one.
const MANY: usize = 1 << 14;
/// Reads are dealt out to this many groups, by windows or, of old bytes, in turn; their differences tell how much chance there is
/// in an estimate.
pub const GROUPS: usize = 16;

/// Cost and bytes of reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Priced {
    pub cost: u128,
    pub bytes: u64,
}

impl Priced {
    fn add(&mut self, more: Self) {
        self.cost += more.cost;
        self.bytes += more.bytes;
    }
}

/// Reads that were priced, for all of their kind.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    pub all: Priced,
    pub groups: [Priced; GROUPS],
    /// The most that the places drawn at random can matter to the cost.
    pub slack: u128,
    pub depths: DepthCounts,
    reads: usize,
}

impl Sample {
    /// A read that stands for `weight` of them.
    fn read(&mut self, group: usize, read: &Place, weight: u64) {
        let cost = run_cost(read.above, read.len) * u128::from(weight);
        let priced = Priced { cost, bytes: read.len * weight };
        self.all.add(priced);
        self.groups[group % GROUPS].add(priced);
        self.slack += read.slack * u128::from(weight);
        self.reads += 1;
        self.depths.add_run(read.above, read.len, weight);
    }

    pub fn merge(&mut self, other: &Self) {
        self.all.add(other.all);
        self.groups.iter_mut().zip(&other.groups).for_each(|(sum, more)| sum.add(*more));
        self.slack += other.slack;
        self.depths.merge(&other.depths);
    }
}

/// Where a run of bytes lies.
#[derive(Clone, Copy)]
struct Place {
    above: u64,
    len: u64,
    /// By how much the cost would differ at the other end of what is possible.
    slack: u128,
}

/// What was found of the reads of one cell.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Those that were measured for themselves.
    pub known: CellCounters,
    pub known_bytes: u64,
    /// Of bytes that are not old, in windows.
    pub recent: Sample,
    /// Of old bytes.
    pub old: Sample,
}

/// How many reads of old bytes a cell made.
#[derive(Clone, Copy, Debug, Default)]
pub struct OldReads {
    pub bytes: u64,
    reads: u64,
    /// Of these, up to the last that was priced, and to the one that will be.
    done: u64,
    next: u64,
}

impl OldReads {
    /// Counts some; how many the last of them stands for if it is to be priced, else 0.
    #[inline(always)]
    fn count(&mut self, reads: u64, bytes: u64) -> u64 {
        self.bytes += bytes;
        self.reads += reads;
        if self.reads <= self.next { 0 } else { self.due() }
    }

    #[inline(never)]
    fn due(&mut self) -> u64 {
        let weight = self.reads - self.done;
        self.done = self.reads;
        self.next = self.reads + self.reads / OLD_READS;
        weight
    }
}

/// What was found of one thread.
#[derive(Default)]
pub struct Samples {
    /// By cell.
    pub found: HashMap<u32, Found, FastHash>,
    /// By cell; not of all cells.
    pub old: Vec<OldReads>,
    /// Depths of first touches.
    pub cold: DepthCounts,
    /// One window in so many was measured.
    pub every: u32,
    pub windows: u64,
    pub peak_live: u64,
}

impl Samples {
    /// Counts reads of old bytes, all of one epoch, of which some may be priced.
    #[inline(always)]
    fn old_reads(
        &mut self,
        recency: &Recency,
        random: &mut u64,
        cell: u32,
        epoch: recency::Epoch,
        reads: u64,
        bytes: u64,
    ) {
        self.noticed(cell, reads, bytes, || place(recency, random, epoch, bytes / reads));
    }

    /// Counts reads that are noticed wherever they are; the place of the last of them is asked for if that is to be priced.
    #[inline(always)]
    fn noticed(&mut self, cell: u32, reads: u64, bytes: u64, place: impl FnOnce() -> Place) {
        let at = cell as usize;
        if at >= self.old.len() {
            self.old.resize((at + 1).next_power_of_two(), OldReads::default());
        }
        let weight = self.old[at].count(reads, bytes);
        if weight > 0 {
            self.price_old(&place(), cell, weight);
        }
    }

    fn price_old(&mut self, place: &Place, cell: u32, weight: u64) {
        let old = &mut self.found.entry(cell).or_default().old;
        old.read(old.reads, place, weight);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// The start of the thread.
    Whole,
    Window,
    Between,
}

/// The stack of one thread, of which windows are measured.
pub struct Sampler {
    recency: Recency,
    engine: Engine,
    ways: FastPaths,
    samples: Samples,
    state: State,
    /// Accesses so far, and the number of them at which something is due: an epoch, the start of a window or its end.
    clock: u64,
    due: u64,
    /// Where the next window starts, and where its stratum ends.
    next_window: u64,
    stratum_end: u64,
    every: u64,
    /// What the engine knows.
    known: Vec<(u64, u64)>,
    /// Runs of bytes of the load at hand.
    runs: Vec<(Last, u64)>,
    in_window: InWindow,
    /// Streams of stores to bytes that are not all on the stack.
    fresh: Vec<Stream>,
    random: u64,
}

impl Sampler {
    /// One window in `every` is measured.
    #[must_use]
    pub fn new(every: u32, ways: &FastPaths) -> Self {
        Self {
            recency: Recency::default(),
            engine: Engine::with_options(ways.engine()),
            ways: *ways,
            samples: Samples { every, ..Samples::default() },
            state: State::Whole,
            clock: 0,
            due: WHOLE,
            next_window: 0,
            stratum_end: WHOLE,
            every: u64::from(every.max(1)),
            known: Vec::new(),
            runs: Vec::new(),
            in_window: InWindow::default(),
            fresh: Vec::new(),
            random: 0x9e37_79b9_7f4a_7c15,
        }
    }

    /// Accesses in order, each with its cell.
    pub fn accesses(&mut self, accesses: &[Access], cells: &[u32]) {
        let mut at = 0;
        while at < accesses.len() {
            if self.clock >= self.due {
                self.turn();
            }
            if self.state == State::Between {
                let most = (accesses.len() - at).min((self.due - self.clock) as usize);
                let done = self.recency.touch_all(&accesses[at..at + most]);
                at += done;
                self.clock += done as u64;
                if done == most {
                    continue;
                }
            }
            self.clock += 1;
            let (access, cell) = (&accesses[at], cells[at]);
            if self.state != State::Between || access.kind == Kind::Remove || !self.touch(access, cell) {
                self.one(access, cell);
            }
            at += 1;
        }
    }

    /// Does an access between windows if there is little to do.
    #[inline(always)]
    fn touch(&mut self, access: &Access, cell: u32) -> bool {
        let (address, len) = (access.addr, u64::from(access.len));
        if len >= LONG && is_load(access.kind) {
            return false;
        }
        match self.recency.touch_recent(address, len) {
            Touched::Yes => true,
            Touched::No => false,
            Touched::Old(epoch) => {
                if is_load(access.kind) {
                    self.old_reads(cell, epoch, 1, len);
                }
                self.recency.touch(address, len);
                true
            }
        }
    }

    /// A regular run of any length.
    pub fn run(&mut self, streams: &[Stream], cells: &[u32], iterations: u64) {
        let accesses = streams.len() as u64;
        // Of streams over the same bytes the one that is ahead comes to each byte first.
        let mut order: Vec<usize> = (0..streams.len()).collect();
        order.sort_by_key(|at| {
            let stream = &streams[*at];
            if stream.stride < 0 { stream.addr } else { u64::MAX - stream.addr }
        });
        let mut done = 0;
        while done < iterations {
            if self.clock >= self.due {
                self.turn();
            }
            let (mut piece, ahead) = (1, self.due.saturating_sub(self.clock) / accesses);
            if self.state == State::Between && ahead > 1 {
                piece = ahead.min(iterations - done);
                self.fresh.clear();
                if order.iter().all(|at| self.touch_stream(&streams[*at], cells[*at], done, piece)) {
                    self.touch_fresh(done, piece);
                    self.clock += piece * accesses;
                    done += piece;
                    continue;
                }
            }
            // Something is not on the stack, or is measured: in order.
            for iteration in done..done + piece {
                for (stream, cell) in streams.iter().zip(cells) {
                    let addr = stream.at(iteration);
                    self.one(&Access { addr, len: stream.len, kind: stream.kind }, *cell);
                }
            }
            self.clock += piece * accesses;
            done += piece;
        }
    }

    /// Touches the bytes of some iterations of a stream, if all are on the stack. Others that are only stored are left in `fresh`:
    /// they may not enter before all reads of these iterations are known to be on the stack.
    fn touch_stream(&mut self, stream: &Stream, cell: u32, from: u64, iterations: u64) -> bool {
        let (addr, len) = (stream.at(from), u64::from(stream.len));
        if len >= LONG && is_load(stream.kind) {
            return false;
        }
        let is_read = is_load(stream.kind) && cell != UNCOUNTED;
        let (samples, random) = (&mut self.samples, &mut self.random);
        let mut count = |recency: &mut Recency, epoch, bytes: u64| {
            if is_read {
                samples.old_reads(recency, random, cell, epoch, (bytes / len).max(1), bytes);
            }
        };
        let is_done = match covered(stream, from, iterations) {
            Some((low, covered)) => self.recency.touch_runs(low, covered, |recency, epoch, bytes| {
                count(recency, epoch, bytes);
                true
            }),
            // Once is enough where it stays.
            None if stream.stride == 0 => self.recency.touch_places(addr, 0, len, 1, count),
            None => self.recency.touch_places(addr, stream.stride, len, iterations, count),
        };
        if !is_done && !is_load(stream.kind) {
            self.fresh.push(*stream);
        }
        is_done || !is_load(stream.kind)
    }

    /// What `touch_stream` left.
    fn touch_fresh(&mut self, from: u64, iterations: u64) {
        for stream in self.fresh.drain(..) {
            match covered(&stream, from, iterations) {
                Some((low, len)) => self.recency.touch(low, len),
                None => (from..from + iterations)
                    .for_each(|iteration| self.recency.touch(stream.at(iteration), u64::from(stream.len))),
            }
        }
    }

    /// Any access in any state.
    fn one(&mut self, access: &Access, cell: u32) {
        let (address, len) = (access.addr, u64::from(access.len));
        if access.kind == Kind::Remove {
            return self.remove(address, len);
        }
        let is_read = is_load(access.kind) && cell != UNCOUNTED;
        if is_read {
            self.read_by_epochs(address, len, cell);
        }
        if self.state != State::Between {
            self.known.push((address, len));
            let mut found = std::mem::take(&mut self.in_window);
            if is_read {
                self.engine.load(address, len, &mut found);
            } else {
                self.engine.store(address, len);
            }
            found.join();
            for (above, run) in found.runs.drain(..) {
                let place = Place { above, len: run, slack: 0 };
                if len >= LONG && self.state == State::Window {
                    self.samples.noticed(cell, 1, run, || place);
                } else {
                    self.recent_read(cell, &place);
                }
            }
            self.in_window = found;
        }
        self.recency.touch(address, len);
    }

    /// Counts of a load what is not on the stack, and what was touched before the window, as far as it is to be priced.
    fn read_by_epochs(&mut self, address: u64, len: u64, cell: u32) {
        let mut runs = std::mem::take(&mut self.runs);
        runs.clear();
        self.recency.each_run(address, len, |last, run| runs.push((last, run)));
        let mut cold = self.recency.live;
        let is_long = len >= LONG;
        for (last, len) in &runs {
            match last {
                Last::Gone => {
                    self.samples.cold.add_run(cold, *len, 1);
                    let found = self.samples.found.entry(cell).or_default();
                    found.known.cold += len;
                    found.known.read(cold, *len);
                    found.known_bytes += len;
                    cold += len;
                }
                Last::Old(epoch) if self.state != State::Whole => self.old_reads(cell, *epoch, 1, *len),
                Last::Then(epoch) if is_long && self.state != State::Whole => self.old_reads(cell, *epoch, 1, *len),
                Last::Now if is_long && self.state == State::Between => {
                    self.old_reads(cell, self.recency.now(), 1, *len);
                }
                Last::Then(epoch) | Last::Old(epoch) if self.state != State::Between => {
                    let place = place(&self.recency, &mut self.random, *epoch, *len);
                    self.recent_read(cell, &place);
                }
                _ => {}
            }
        }
        self.runs = runs;
    }

    #[inline(always)]
    fn old_reads(&mut self, cell: u32, epoch: recency::Epoch, reads: u64, bytes: u64) {
        if cell != UNCOUNTED {
            self.samples.old_reads(&self.recency, &mut self.random, cell, epoch, reads, bytes);
        }
    }

    /// A read, in a window or at the start, of bytes that are not old.
    fn recent_read(&mut self, cell: u32, place: &Place) {
        let group = self.samples.windows as usize;
        let found = self.samples.found.entry(cell).or_default();
        if self.state == State::Whole {
            found.known.read(place.above, place.len);
            found.known_bytes += place.len;
        } else {
            found.recent.read(group, place, 1);
        }
    }

    /// Does what is due.
    #[cold]
    fn turn(&mut self) {
        match self.state {
            State::Between if self.clock >= self.next_window => {
                self.advance();
                self.state = State::Window;
                self.due = self.clock + WINDOW;
            }
            State::Between => {
                self.advance();
                self.set_due();
            }
            State::Whole | State::Window => {
                self.samples.windows += u64::from(self.state == State::Window);
                self.state = State::Between;
                self.forget_window();
                self.next_stratum();
                self.advance();
                self.set_due();
            }
        }
    }

    /// Starts an epoch. Bytes are old that were touched longer ago than windows are apart.
    fn advance(&mut self) {
        self.recency.advance(self.clock, self.every * WINDOW);
    }

    /// Draws where the next window begins: anywhere in the next stratum that has not ended, but not before now.
    fn next_stratum(&mut self) {
        loop {
            let len = self.every * WINDOW;
            let begin = self.stratum_end;
            self.stratum_end += len;
            self.next_window = (begin + below(&mut self.random, len)).max(self.clock);
            if self.stratum_end > self.clock {
                return;
            }
        }
    }

    fn set_due(&mut self) {
        let ahead = self.next_window.saturating_sub(self.clock);
        self.due = self.clock + (ahead / EPOCHS).max(SHORTEST).min(ahead);
    }

    /// The engine starts empty with the next window.
    fn forget_window(&mut self) {
        let mut known = std::mem::take(&mut self.known);
        if known.len() > MANY {
            self.engine = Engine::with_options(self.ways.engine());
        } else {
            known.sort_unstable();
            for run in known.chunk_by(|a, b| b.0 <= a.0.saturating_add(a.1)) {
                let end = run.iter().map(|(address, len)| address.saturating_add(*len)).max();
                let start = run[0].0;
                self.engine.remove(start, end.unwrap_or(start) - start);
            }
        }
        known.clear();
        self.known = known;
    }

    /// The bytes leave the stack.
    fn remove(&mut self, address: u64, len: u64) {
        self.recency.remove(address, len);
        if self.state != State::Between {
            self.engine.remove(address, len);
        }
    }

    /// See [`Engine::relocate`].
    pub fn relocate(&mut self, from: u64, to: u64, len: u64) {
        self.recency.relocate(from, to, len);
        if self.state != State::Between {
            self.engine.relocate(from, to, len);
            self.known.push((to, len));
        }
    }

    /// See [`Engine::insert_bottom`].
    pub fn insert_bottom(&mut self, address: u64, len: u64) {
        self.recency.insert_bottom(address, len);
    }

    /// Memory held, in bytes.
    #[must_use]
    pub fn heap_bytes(&self) -> u64 {
        self.recency.heap_bytes() + self.engine.heap_bytes()
    }

    #[must_use]
    pub fn peak_live(&self) -> u64 {
        self.recency.peak_live
    }

    #[must_use]
    pub fn footprint(&self) -> u64 {
        self.recency.footprint
    }

    /// What was found.
    #[must_use]
    pub fn finish(mut self) -> Samples {
        self.samples.peak_live = self.peak_live();
        self.samples
    }
}

/// The lowest address and the number of bytes of some iterations of a stream that leaves nothing out.
fn covered(stream: &Stream, from: u64, iterations: u64) -> Option<(u64, u64)> {
    let (len, travelled) = (u64::from(stream.len), stream.stride.unsigned_abs().wrapping_mul(iterations - 1));
    let low = if stream.stride < 0 { stream.at(from).wrapping_sub(travelled) } else { stream.at(from) };
    (stream.stride.unsigned_abs() == len).then_some((low, travelled + len))
}

fn is_load(kind: Kind) -> bool {
    matches!(kind, Kind::Load | Kind::Last)
}

/// A number below `limit`, or 0. Xorshift (Marsaglia, 2003), by multiplication brought into range.
fn below(random: &mut u64, limit: u64) -> u64 {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    ((u128::from(*random) * u128::from(limit)) >> 64) as u64
}

/// A place for bytes that were touched last in an epoch.
fn place(recency: &Recency, random: &mut u64, epoch: recency::Epoch, len: u64) -> Place {
    let (above, of_epoch) = recency.above(epoch);
    let room = of_epoch - len;
    let slack = run_cost(above + room, len) - run_cost(above, len);
    Place { above: above + below(random, room + 1), len, slack }
}

/// Keeps what the engine knows of a load's bytes; of the others, epochs tell.
#[derive(Default)]
struct InWindow {
    /// Bytes above them, and how many they are.
    runs: Vec<(u64, u64)>,
}

impl InWindow {
    /// Makes one of runs that lie beside each other on the stack: which of these the engine tells at once depends on how it
    /// arranges its positions, and what is drawn must not.
    fn join(&mut self) {
        self.runs.sort_unstable();
        self.runs.dedup_by(|next, run| {
            let is_beside = run.0 + run.1 == next.0;
            run.1 += if is_beside { next.1 } else { 0 };
            is_beside
        });
    }
}

impl DepthSink for InWindow {
    fn warm(&mut self, above: u64, len: u64) {
        self.runs.push((above, len));
    }

    fn cold(&mut self, _above: u64, _len: u64) {}
}
