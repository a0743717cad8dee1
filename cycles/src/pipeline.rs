//! When each instruction is dispatched, starts, and retires.
//!
//! Takes instructions in the order of the program with what they access, gives the cycles that passed until each
//! retired, and why. Operations are dispatched in order as long as there is room for them, start when their operands
//! and a unit are there, and retire in order. Stores are written in order once they have retired.

use std::ops::RangeInclusive;

use crate::access::Access;
use crate::cause::Cause;
use crate::figures::Figures;
use crate::instruction::{Class, Instruction, PORTS, Port, REGISTERS, Register};
use crate::memory::Memory;
use crate::slots::Ports;

/// Words of 8 bytes of which it is known who stored them.
const WORDS: usize = 1 << 12;
/// Stores that loads behind them are compared with; more than are ever in flight.
const STORED: usize = 1 << 10;
/// Loads of which it is known how many stores before them they read.
const PARTNERS: usize = 1 << 12;

/// Places for what is in flight, in order: each is free when what was in it so many places before has left.
struct Queue {
    places: Box<[QueueSlot]>,
    next: usize,
}

/// When a place is free, and what keeps it until then.
#[derive(Clone, Copy)]
struct QueueSlot {
    free: u64,
    kept: Cause,
}

impl Queue {
    fn new(places: u64) -> Self {
        let place = QueueSlot { free: 0, kept: Cause::Base };
        Self { places: vec![place; places.clamp(1, 1 << 14) as usize].into(), next: 0 }
    }

    /// The place of the next one.
    fn room(&self) -> QueueSlot {
        self.places[self.next]
    }

    /// The next one leaves its place at a time.
    fn take(&mut self, free: u64, kept: Cause) {
        self.places[self.next] = QueueSlot { free, kept };
        self.next = if self.next + 1 == self.places.len() { 0 } else { self.next + 1 };
    }
}

/// Who stored the bytes of a word last: numbers of stores.
#[derive(Clone, Copy, Default)]
struct Word {
    word: u64,
    by: [u64; 8],
}

/// The words that an access has bytes of, and which bytes of each.
fn words(access: &Access) -> impl Iterator<Item = (u64, RangeInclusive<usize>)> {
    let (first, last) = (access.address, access.last());
    let bytes = move |word: u64| {
        let start = word << 3;
        first.saturating_sub(start) as usize..=(last - start).min(7) as usize
    };
    (first >> 3..=last >> 3).map(move |word| (word, bytes(word)))
}

/// A store.
#[derive(Clone, Copy, Default)]
struct Stored {
    address: u64,
    bytes: u64,
    /// When its value is known.
    ready: u64,
    /// When it is in the first level.
    written: u64,
    /// Number of the store.
    number: u64,
}

impl Stored {
    fn has(&self, access: &Access) -> bool {
        self.address <= access.address
            && access.address + u64::from(access.bytes) <= self.address.saturating_add(self.bytes)
    }
}

/// A load that reads what was stored: how many stores before, and how often it was as many.
#[derive(Clone, Copy, Default)]
struct Partner {
    load: u64,
    distance: u64,
    sure: u8,
}

/// A time, and what was waited for until then.
#[derive(Clone, Copy)]
struct When {
    time: u64,
    cause: Cause,
    /// When that began and was over; between its end and the time, instructions that waited for it were executed.
    begun: u64,
    over: u64,
}

impl When {
    fn now(time: u64, cause: Cause) -> Self {
        Self { time, cause, begun: time, over: time }
    }

    /// Whether something took time that instructions behind it wait for as well: a load, or a unit that was busy.
    fn is_event(&self) -> bool {
        self.begun < self.over
    }

    /// Whether nothing was waited for.
    fn is_free(&self) -> bool {
        self.cause == Cause::Base && !self.is_event()
    }

    /// What was waited for, of which cycles before a time have been counted: once all that it took is counted, what
    /// goes on is a chain of operations.
    fn not_counted(&self, counted: u64) -> Cause {
        let is_counted = self.over <= self.begun.max(counted);
        if is_counted && !self.is_free() { Cause::Dependence } else { self.cause }
    }
}

/// What has been loaded.
struct Loaded {
    when: Option<When>,
    started: u64,
}

/// An out-of-order core between its predictor and its caches.
pub struct Pipeline {
    figures: Figures,
    /// Unit, latency and time for which the unit is kept, by class.
    costs: Vec<Option<(Port, u64, u64)>>,
    ports: [Ports; PORTS],
    registers: [When; REGISTERS],
    window: Queue,
    scheduler: Queue,
    loads: Queue,
    stores: Queue,
    words: Box<[Word]>,
    stored: Box<[Stored]>,
    partners: Box<[Partner]>,
    /// Stores so far.
    store: u64,
    /// Cycle in which operations are dispatched, and how many of it are.
    dispatched: (u64, u64),
    /// Until when what is dispatched comes behind a mispredicted branch.
    refills_until: u64,
    /// Instructions that were dispatched since one had to wait for more than the width of the dispatch.
    unhindered: u64,
    /// Cycles by which places for stores held up the dispatch and that no retirement has counted, and what those waited
    /// for.
    held: (u64, Cause),
    /// What loads and busy units took until then is counted.
    counted: u64,
    /// Cycle in which instructions retire, and how many.
    retired: (u64, u64),
    /// When the last store was written.
    drained: u64,
    /// When the last instruction was done.
    done: u64,
}

impl Pipeline {
    pub fn new(figures: &Figures) -> Self {
        let units = |port: Port| match port {
            Port::Alu => figures.alu_ports,
            Port::Multiply => figures.multiply_ports,
            Port::Divide => figures.divide_ports,
            Port::FloatAdd => figures.float_add_ports,
            Port::FloatMultiply => figures.float_multiply_ports,
            Port::FloatDivide => figures.float_divide_ports,
            Port::Vector => figures.vector_ports,
            Port::Shuffle => figures.shuffle_ports,
            Port::Load => figures.load_ports,
            Port::Store => figures.store_ports,
            Port::Branch => figures.branch_ports,
        };
        Self {
            figures: figures.clone(),
            costs: Class::ALL.iter().map(|class| class.cost(figures)).collect(),
            ports: Port::ALL.map(|port| Ports::new(units(port))),
            registers: [When::now(0, Cause::Base); REGISTERS],
            window: Queue::new(figures.window),
            scheduler: Queue::new(figures.scheduler),
            loads: Queue::new(figures.load_queue),
            stores: Queue::new(figures.store_queue),
            words: vec![Word::default(); WORDS].into(),
            stored: vec![Stored::default(); STORED].into(),
            partners: vec![Partner::default(); PARTNERS].into(),
            store: 0,
            dispatched: (0, 0),
            refills_until: 0,
            unhindered: 0,
            held: (0, Cause::Base),
            counted: 0,
            retired: (0, 0),
            drained: 0,
            done: 0,
        }
    }

    /// The time, for whoever keeps states up between windows.
    pub fn time(&self) -> u64 {
        self.retired.0
    }

    /// The next instruction, and its accesses; cycles until it retires after the one before, and why.
    pub fn instruction(&mut self, what: &Instruction, accesses: &[Access], memory: &mut Memory) -> (u64, Cause) {
        let loads = accesses.iter().any(|access| !access.is_store);
        let stores = accesses.iter().any(|access| access.is_store);
        let (dispatch, kept) = self.dispatch(what, loads, stores);
        let is_refill = dispatch <= self.refills_until;
        let Loaded { when: loaded, started } = self.load(what, accesses, dispatch, memory);
        let own = loaded.unwrap_or(When::now(dispatch + 1, kept));
        let mut ready = own;
        for &source in what.sources.all() {
            self.wait(&mut ready, source);
        }
        let (start, done) = self.execute(what, ready.time, dispatch, !accesses.is_empty());
        self.occupy_ports(what, accesses, dispatch, done);
        let (is_own, is_ready) = (ready.time == own.time, ready.time <= dispatch + 1);
        if start > ready.time {
            ready = When { time: start, cause: Cause::Base, begun: ready.time, over: start };
        }
        let is_long = ready.is_free() && done > start + 1;
        let cause = if is_long { Cause::Dependence } else { ready.cause };
        for &result in what.results.all() {
            self.registers[usize::from(result)] = When { time: done, cause, ..ready };
        }
        self.done = done;
        let awaited = if is_own { ready.cause } else { ready.not_counted(self.counted) };
        let passed = self.retire(done);
        if awaited == ready.cause {
            self.count(&ready, passed);
        }
        let why = if is_refill && is_ready {
            Cause::Branch
        } else if self.is_hidden(passed) {
            Cause::Base
        } else if self.held.0 > 0 && matches!(awaited, Cause::L1 | Cause::Base) {
            // It is late as it was dispatched late; what it took itself is the same for all.
            self.held.1
        } else {
            awaited
        };
        self.held.0 = self.held.0.saturating_sub(passed);
        let retired = self.retired.0;
        self.window.take(retired, Cause::Base);
        self.scheduler.take(if loads { started } else { start }, Cause::Base);
        if loads {
            self.loads.take(retired, Cause::Base);
        }
        self.drain(what, accesses, done, memory);
        (passed, why)
    }

    /// Cycles that passed for an event count for it, up to all that it took.
    fn count(&mut self, event: &When, passed: u64) {
        if event.is_event() {
            self.counted = (self.counted.max(event.begun) + passed).min(event.over.max(self.counted));
        }
    }

    /// The last instruction went another way than foretold, or elsewhere than to the one behind it.
    pub fn branch(&mut self, is_mispredicted: bool, is_taken: bool) {
        if is_mispredicted {
            self.dispatched = (self.done + self.figures.refill, 0);
            self.refills_until = self.dispatched.0 + 2;
            self.unhindered = 0;
        } else if is_taken {
            self.dispatched.1 = self.figures.dispatch;
        }
    }

    /// When the operations of an instruction find room, and what kept them: where stores are written too slowly, what
    /// those wait for.
    fn dispatch(&mut self, what: &Instruction, loads: bool, stores: bool) -> (u64, Cause) {
        let (mut time, mut count) = self.dispatched;
        if count >= self.figures.dispatch {
            (time, count) = (time + 1, 0);
        }
        let mut room = time.max(self.window.room().free).max(self.scheduler.room().free);
        if loads {
            room = room.max(self.loads.room().free);
        }
        let is_full = room > time;
        let mut kept = Cause::Base;
        if stores && self.stores.room().free > room {
            let others = room;
            QueueSlot { free: room, kept } = self.stores.room();
            if kept != Cause::Base {
                self.held = (self.held.0 + room - others, kept);
            }
        }
        self.unhindered = if is_full || kept != Cause::Base { 0 } else { self.unhindered + 1 };
        if room > time {
            count = 0;
        }
        self.dispatched = (room, count + u64::from(what.operations));
        (room, kept)
    }

    /// Whether instructions behind one that took so many cycles went on being dispatched all the while: what it waited
    /// for is hidden by them then. It is if nothing but the width of the dispatch kept as many instructions before it
    /// as are in flight at once, and those cycles are too few to fill the window.
    fn is_hidden(&self, passed: u64) -> bool {
        let places = self.window.places.len() as u64;
        self.unhindered > places && passed * self.figures.dispatch < places
    }

    #[inline(always)]
    fn wait(&self, ready: &mut When, register: Register) {
        let source = self.registers[usize::from(register)];
        if source.time > ready.time {
            *ready = When { cause: if source.is_free() { Cause::Dependence } else { source.cause }, ..source };
        }
    }

    /// When what an instruction loads is there, and when the last of its loads started.
    fn load(&mut self, what: &Instruction, accesses: &[Access], dispatch: u64, memory: &mut Memory) -> Loaded {
        let mut address = When::now(dispatch + 1, Cause::Base);
        let mut loaded = Loaded { when: None, started: dispatch + 1 };
        let mut is_known = false;
        for access in accesses.iter().filter(|access| !access.is_store) {
            if !is_known {
                what.bases.all().iter().for_each(|base| self.wait(&mut address, *base));
                is_known = true;
            }
            let start = self.ports[Port::Load as usize].start(address.time, 1);
            loaded.started = loaded.started.max(start);
            let when = self.load_one(what, access, start, &address, dispatch, memory);
            if loaded.when.is_none_or(|before| when.time > before.time) {
                loaded.when = Some(when);
            }
        }
        loaded
    }

    fn load_one(
        &mut self,
        what: &Instruction,
        access: &Access,
        start: u64,
        awaited: &When,
        dispatch: u64,
        memory: &mut Memory,
    ) -> When {
        let more = if what.is_vector { self.figures.l1_vector } else { 0 };
        let (ready, mut cause) = memory.access(what.address, access, start);
        let mut time = ready + more;
        if let Some(stored) = self.stored(access).filter(|stored| stored.written > start) {
            let forwarded = self.forward(what, access, &stored, start, dispatch);
            // Where its line is does not matter then; one that takes a store's register waits as that register does.
            let has_register = forwarded <= stored.ready + self.figures.forward_known;
            cause = if forwarded > start + self.figures.forward {
                Cause::Forwarding
            } else if has_register && stored.ready > dispatch + 1 {
                Cause::Dependence
            } else {
                Cause::L1
            };
            time = forwarded;
        }
        // Not the first level kept it waiting, but what the address is made of.
        let inherited = awaited.not_counted(self.counted);
        let is_inherited = !matches!(inherited, Cause::Base | Cause::Dependence) || awaited.cause == Cause::Dependence;
        if is_inherited && time.saturating_sub(start) <= self.figures.l1 + more {
            return When { time, ..*awaited };
        }
        When { begun: start, ..When::now(time, cause) }
    }

    /// The newest store to a byte of an access.
    fn stored(&self, access: &Access) -> Option<Stored> {
        let newest = |(word, bytes): (u64, RangeInclusive<usize>)| {
            let known = &self.words[word as usize % WORDS];
            let by = if known.word == word { &known.by[bytes] } else { &[] };
            by.iter().copied().max().unwrap_or(0)
        };
        let number = words(access).map(newest).max().filter(|number| *number > 0)?;
        let stored = self.stored[number as usize % STORED];
        (stored.number == number).then_some(stored)
    }

    /// When a load has what a store in flight writes.
    fn forward(&mut self, what: &Instruction, access: &Access, stored: &Stored, start: u64, dispatch: u64) -> u64 {
        let Figures { forward, forward_vector, forward_known, forward_failed, .. } = self.figures;
        if !stored.has(access) {
            // Only a part of it is there: it has to be read when that has been written.
            return stored.written.max(start) + forward_failed;
        }
        if what.is_vector {
            return (stored.ready + forward_vector).max(start + forward_vector);
        }
        let distance = self.store - stored.number;
        let partner = &mut self.partners[what.address as usize % PARTNERS];
        if partner.load == what.address && partner.distance == distance {
            partner.sure = (partner.sure + 1).min(3);
        } else {
            *partner = Partner { load: what.address, distance, sure: 0 };
        }
        // A load that is known to read a certain store takes its register, and does not wait for its address.
        if partner.sure >= 2 {
            stored.ready.max(dispatch + 1) + forward_known
        } else {
            stored.ready.max(start) + forward
        }
    }

    /// When an instruction starts, and when its results are there.
    fn execute(&mut self, what: &Instruction, ready: u64, dispatch: u64, accesses: bool) -> (u64, u64) {
        if what.is_renamed && !accesses {
            let done = if what.sources.all().is_empty() { dispatch + 1 } else { ready };
            return (dispatch + 1, done);
        }
        match self.costs[what.class as usize] {
            None => (ready, ready),
            Some((port, latency, busy)) => {
                let start = self.ports[port as usize].start(ready, busy);
                (start, start + latency)
            }
        }
    }

    /// Stores take a unit when their address and their value are known.
    fn occupy_ports(&mut self, what: &Instruction, accesses: &[Access], dispatch: u64, done: u64) {
        for _ in accesses.iter().filter(|access| access.is_store) {
            let bases = what.bases.all().iter().map(|base| self.registers[usize::from(*base)].time);
            let ready = bases.fold(done.max(dispatch + 1), u64::max);
            self.ports[Port::Store as usize].start(ready, 1);
        }
    }

    /// Cycles from the last retirement to that of an instruction that is done at a time.
    fn retire(&mut self, done: u64) -> u64 {
        let (last, count) = self.retired;
        let time = (done + 1).max(last);
        self.retired = match time == last {
            true if count >= self.figures.retire => (last + 1, 1),
            true => (last, count + 1),
            false => (time, 1),
        };
        self.retired.0 - last
    }

    /// Writes stores to the first level, one after the other; until then loads find what they will write. Each keeps
    /// its place in the queue until then, and what kept it is the cause for whoever waits for the place.
    fn drain(&mut self, what: &Instruction, accesses: &[Access], done: u64, memory: &mut Memory) {
        let retired = self.retired.0;
        for access in accesses.iter().filter(|access| access.is_store) {
            let (there, from) = memory.access(what.address, access, retired);
            // Lines that stores need are asked for early.
            let is_far = matches!(from, Cause::L3 | Cause::Memory | Cause::Bandwidth);
            let written = if is_far { retired.max(there.saturating_sub(EARLY)) } else { retired };
            // One that waits for the store before it waits for nothing else.
            let cause = if written > self.drained + 1 { from } else { Cause::Base };
            self.drained = (self.drained + 1).max(written);
            self.stores.take(retired.max(self.drained.min(there)), cause);
            self.store += 1;
            let number = self.store;
            let (address, bytes) = (access.address, u64::from(access.bytes));
            self.stored[number as usize % STORED] =
                Stored { address, bytes, ready: done, written: self.drained, number };
            for (word, bytes) in words(access) {
                let known = &mut self.words[word as usize % WORDS];
                if known.word != word {
                    *known = Word { word, by: [0; 8] };
                }
                known.by[bytes].fill(number);
            }
        }
    }
}

/// Cycles for which a store's line is asked for before the store is written.
const EARLY: u64 = 24;

#[cfg(test)]
mod tests;
