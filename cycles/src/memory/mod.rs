//! What an access waits for: caches of sets, prefetchers, the translation of addresses, bandwidths, first touches.
//!
//! Takes addresses with the time at which they are known, gives the time at which the data is there and what it waited
//! for. A line that is under way is in its cache already, with the time of its arrival. Between windows time stands
//! still: then only contents change.

mod cache;
mod pages;
mod prefetch;

use self::cache::{Cache, LINE};
use self::pages::Pages;
pub use self::pages::Paging;
use self::prefetch::{Steps, Streams};
use crate::access::Access;
use crate::cause::Cause;
use crate::figures::Figures;
use crate::slots::Server;

/// Where the page table lies, for the lines that walks read.
const PAGE_TABLE: u64 = 0x6000_0000_0000;

/// Caches, and what fills them.
pub struct Memory {
    figures: Figures,
    l1: Cache,
    outer: OuterLevels,
    steps: Steps,
    streams: Streams,
    first: Cache,
    second: Cache,
    walker: Server,
    faults: u64,
    passed: Passed,
}

/// Lines that were passed a moment ago, so that they are in the first level.
struct Passed {
    lines: [u64; Self::LINES],
    left: u32,
}

impl Passed {
    const LINES: usize = 32;
    /// Lines that are looked at until all are new again, fewer than any first level has.
    const MOST: u32 = 128;

    fn new() -> Self {
        Self { lines: [u64::MAX; Self::LINES], left: Self::MOST }
    }

    /// Whether a line is none of them; it is one from now on.
    #[inline(always)]
    fn is_new(&mut self, line: u64) -> bool {
        let known = &mut self.lines[line as usize % Self::LINES];
        if *known == line {
            return false;
        }
        *known = line;
        self.left -= 1;
        if self.left == 0 {
            *self = Self::new();
        }
        true
    }
}

/// The levels behind the first, and the ways to them.
struct OuterLevels {
    l2: Cache,
    l3: Cache,
    l2_latency: u64,
    l3_latency: u64,
    memory_latency: u64,
    l2_way: Server,
    l3_way: Server,
    memory_way: Server,
    /// When each place for a line under way is free.
    misses: Box<[u64]>,
    /// Time stands still.
    is_warming: bool,
    pages: Pages,
}

/// A line, and when it is there.
struct Arrival {
    time: u64,
    from: Cause,
}

impl OuterLevels {
    fn new(figures: &Figures) -> Self {
        Self {
            l2: Cache::new(figures.l2_kib, figures.l2_ways),
            l3: Cache::new(figures.l3_kib, figures.l3_ways),
            l2_latency: figures.l2,
            l3_latency: figures.l3,
            memory_latency: figures.memory,
            l2_way: Server::new(figures.l2_gap),
            l3_way: Server::new(figures.l3_gap),
            memory_way: Server::new(figures.memory_gap),
            misses: vec![0; figures.misses.clamp(1, 256) as usize].into(),
            is_warming: false,
            pages: Pages::new(figures),
        }
    }

    /// Where a line lies: pages lie anywhere in memory, huge ones in one piece.
    #[inline(always)]
    fn scattered(&self, line: u64) -> u64 {
        let (page, lines) = self.pages.huge_at(line << LINE).unwrap_or((line >> LINE, LINE));
        scattered(page) << lines | (line & ((1 << lines) - 1))
    }

    /// Brings a line to the first level, for a program that waits or ahead of it.
    #[inline(always)]
    fn bring(&mut self, line: u64, time: u64, is_awaited: bool) -> Arrival {
        if self.is_warming {
            self.keep(line);
            return Arrival { time: 0, from: Cause::L1 };
        }
        self.fetch(line, time, is_awaited)
    }

    /// Contents follow, and time stands still.
    fn keep(&mut self, line: u64) {
        let line = self.scattered(line);
        if self.l2.find(line).is_none() {
            if self.l3.find(line).is_none() {
                self.l3.insert_line(line, 0);
            }
            self.l2.insert_line(line, 0);
        }
    }

    fn has_near(&mut self, line: u64) -> bool {
        let line = self.scattered(line);
        self.l2.find(line).is_some()
    }

    /// Brings a line to the first level while time passes.
    fn fetch(&mut self, line: u64, mut time: u64, is_awaited: bool) -> Arrival {
        let line = self.scattered(line);
        if let Some(ready) = self.l2.find(line) {
            let served = self.l2_way.serve(time);
            return arrival(time, served, self.l2_latency, Cause::L2, ready);
        }
        let slot = is_awaited.then(|| {
            let (slot, free) = self.misses.iter().enumerate().min_by_key(|(_, free)| **free).unwrap_or((0, &0));
            time = time.max(*free);
            slot
        });
        let found = if let Some(ready) = self.l3.find(line) {
            let served = self.l3_way.serve(time);
            arrival(time, served, self.l3_latency, Cause::L3, ready)
        } else {
            let served = self.memory_way.serve(time);
            let found = arrival(time, served, self.memory_latency, Cause::Memory, 0);
            self.l3.insert_line(line, found.time);
            found
        };
        if let Some(slot) = slot {
            self.misses[slot] = found.time;
        }
        self.l2.insert_line(line, found.time);
        found
    }
}

/// When a request is answered that was served at a time, and why not before.
fn arrival(asked: u64, served: u64, latency: u64, from: Cause, ready: u64) -> Arrival {
    let from = if served - asked > latency / 2 { Cause::Bandwidth } else { from };
    Arrival { time: (served + latency).max(ready), from }
}

/// Where a page lies.
fn scattered(mut page: u64) -> u64 {
    page ^= page >> 15;
    page = page.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    page ^= page >> 29;
    page & 0xffff_ffff
}

impl Memory {
    pub fn new(figures: &Figures) -> Self {
        Self {
            figures: figures.clone(),
            l1: Cache::new(figures.l1_kib, figures.l1_ways),
            outer: OuterLevels::new(figures),
            steps: Steps::default(),
            streams: Streams::new(figures.prefetch_depth),
            first: Cache::with_sets(1, figures.tlb1_entries.min(4096)),
            second: Cache::with_sets(figures.tlb2_entries / figures.tlb2_ways.max(1), figures.tlb2_ways),
            walker: Server::new(figures.walk_gap),
            faults: 0,
            passed: Passed::new(),
        }
    }

    /// Time stands still from now on, or passes again.
    pub fn warms(&mut self, is_so: bool) {
        self.outer.is_warming = is_so;
    }

    /// Cycles that the system took to give pages on their first use since this was last asked.
    pub fn take_faults(&mut self) -> u64 {
        std::mem::take(&mut self.faults)
    }

    /// The program asked something of the system about these bytes.
    pub fn apply_paging(&mut self, paging: Paging, address: u64, bytes: u64) {
        let gone = self.outer.pages.apply_paging(paging, address, bytes);
        for translations in [&mut self.first, &mut self.second] {
            translations.drop_all(|page| gone.contains(page));
        }
        self.passed = Passed::new();
    }

    /// An access of an instruction, at a time; when the data is there, and what it waited for.
    #[inline]
    pub fn access(&mut self, instruction: u64, access: &Access, time: u64) -> (u64, Cause) {
        let Access { address, is_store, .. } = *access;
        let first = self.access_line(instruction, address, is_store, time);
        let last = access.last();
        if last >> LINE == address >> LINE {
            return first;
        }
        let second = self.access_line(instruction, last, is_store, time);
        if second.0 > first.0 { second } else { first }
    }

    /// An access of which only contents are of interest; what the system took for first uses.
    #[inline]
    pub fn pass(&mut self, address: u64, bytes: u32) -> u64 {
        let last = address.saturating_add(u64::from(bytes).max(1) - 1) >> LINE;
        for line in address >> LINE..=last {
            if self.passed.is_new(line) {
                self.pass_line(line);
            }
        }
        self.take_faults()
    }

    fn pass_line(&mut self, line: u64) {
        self.warms(true);
        self.translate(line << LINE, 0);
        if self.l1.find(line).is_none() {
            self.outer.keep(line);
            self.l1.insert_line(line, 0);
            self.stream(line, 0);
        }
        self.warms(false);
    }

    fn access_line(&mut self, instruction: u64, address: u64, is_store: bool, time: u64) -> (u64, Cause) {
        let line = address >> LINE;
        let translation = self.translate(address, time);
        self.run_ahead(instruction, address, time);
        let known = time + translation;
        let hit = time + translation + self.figures.l1;
        let (ready, cause) = if let Some(ready) = self.l1.find(line) {
            if ready <= hit { (hit, Cause::L1) } else { (ready, self.level_of(ready - time)) }
        } else {
            // Stores wait elsewhere until their line is there.
            let room = if is_store { 0 } else { self.l1.has_room(line) };
            let known = known.max(room);
            let Arrival { time: ready, from } = self.outer.bring(line, known, true);
            self.l1.insert_line(line, ready);
            self.stream(line, time);
            (ready, from)
        };
        let is_near = matches!(cause, Cause::L1 | Cause::L2);
        (ready, if translation > self.figures.tlb2 && is_near { Cause::Pages } else { cause })
    }

    /// The level of a line that is under way.
    fn level_of(&self, wait: u64) -> Cause {
        if wait > self.figures.l3 {
            Cause::Memory
        } else if wait > self.figures.l2 {
            Cause::L3
        } else {
            Cause::L2
        }
    }

    /// Cycles until an address is translated.
    #[inline]
    fn translate(&mut self, address: u64, time: u64) -> u64 {
        let page = self.outer.pages.number(address);
        if self.first.find(page).is_some() {
            return 0;
        }
        if self.second.find(page).is_some() {
            self.first.insert_line(page, 0);
            return self.figures.tlb2;
        }
        self.faults += self.outer.pages.touch(address);
        // A first use may have given a huge page.
        let page = self.outer.pages.number(address);
        self.first.insert_line(page, 0);
        self.second.insert_line(page, 0);
        // Entries of huge pages are in tables of their own.
        let entry = (PAGE_TABLE + (page << 3) + (page >> 63 << 44)) >> LINE;
        if self.outer.is_warming {
            self.outer.keep(entry);
            return 0;
        }
        let start = self.walker.serve(time) + self.figures.walk_gap;
        let found = self.outer.fetch(entry, start, false);
        (found.time - time).min(self.figures.walk)
    }

    /// Fetches where an instruction goes that advances by equal steps.
    fn run_ahead(&mut self, instruction: u64, address: u64, time: u64) {
        let Some(ahead) = self.steps.next(instruction, address) else { return };
        let line = ahead >> LINE;
        let is_same_page = self.outer.pages.is_same(ahead, address);
        if line == address >> LINE || !is_same_page || self.l1.find(line).is_some() {
            return;
        }
        let ready = self.outer.bring(line, time, false).time;
        self.l1.insert_line(line, ready);
        self.stream(line, time);
    }

    /// Fetches ahead of a stream of lines, into the second level.
    fn stream(&mut self, line: u64, time: u64) {
        let Self { streams, outer, .. } = self;
        streams.missed(line, |ahead| {
            if !outer.has_near(ahead) {
                outer.bring(ahead, time, false);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::tests::round;

    fn load(memory: &mut Memory, instruction: u64, address: u64, time: u64) -> (u64, Cause) {
        memory.access(instruction, &Access { instruction: 0, is_store: false, bytes: 8, address }, time)
    }

    #[test]
    fn a_line_is_waited_for_once() {
        let mut memory = Memory::new(&round());
        let (first, cause) = load(&mut memory, 1, 0x10_0000, 1000);
        assert!(first >= 1300 && cause == Cause::Memory, "{first} {cause:?}");
        assert_eq!(load(&mut memory, 1, 0x10_0008, first), (first + 4, Cause::L1));
        assert_eq!(memory.take_faults(), 2000);
        load(&mut memory, 1, 0x10_0010, first);
        assert_eq!(memory.take_faults(), 0);
        memory.apply_paging(Paging::Dropped, 0x10_0000, 4096);
        load(&mut memory, 1, 0x10_0008, first);
        assert_eq!(memory.take_faults(), 2000, "its page is new, and its translation gone");
    }

    #[test]
    fn huge_pages_need_few_translations() {
        let walks = |is_huge: bool| {
            let mut memory = Memory::new(&round());
            let (start, bytes) = (0x4000_0000, 64 << 20);
            memory.apply_paging(if is_huge { Paging::Huge } else { Paging::Other }, start, bytes);
            // Each page twice: there are more than translations are kept of.
            let all: Vec<u64> = (0..2 * bytes / 4096)
                .map(|number| memory.translate(start + number * 5 * 4096 % bytes, number * 1000))
                .collect();
            all.into_iter().filter(|cycles| *cycles > 7).count()
        };
        assert_eq!((walks(false), walks(true)), (2 * 16_384, 32));
    }

    #[test]
    fn a_stream_is_there_before_it_is_read() {
        let mut memory = Memory::new(&round());
        let (mut time, mut waits) = (0, Vec::new());
        for line in 0..400u64 {
            let (ready, _) = load(&mut memory, 7, 0x20_0000 + line * 64, time);
            waits.push(ready - time);
            time = ready + 20;
        }
        let late: u64 = waits[300..].iter().sum();
        assert!(waits[0] >= 300 && late < 100 * 40, "{waits:?}");
    }

    #[test]
    fn as_many_misses_are_under_way_as_there_is_room_for() {
        let mut memory = Memory::new(&round());
        let ready: Vec<u64> =
            (0..32u64).map(|n| load(&mut memory, n, 0x4000_0000 + n * n * 81920 + n * 64, 0).0).collect();
        assert!(ready[15] < 700 && ready[31] > 600, "{ready:?}");
    }
}
