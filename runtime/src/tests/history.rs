//! What the steps of a thread do, one after the other: calls, executions, accesses, and lives of memory.
//!
//! Takes a program and the steps of one thread; gives happenings in their order, each access with its site and the
//! calling context of that. This is the definition of what records mean, with nothing that would make it fast: each
//! iteration of a loop is there, each lane of a vector, each block of a copy.

use std::{collections::BTreeSet, rc::Rc};

use super::{
    program::{FunctionName, Program, SegmentName},
    steps::Step,
};
use crate::{
    abi::{COPY_BLOCK, Item, ItemKind, SegmentKind, item_flag, segment_flag},
    decode::{event::Event, roi::RegionOfInterest},
};

/// The functions from the outermost to the innermost.
pub type Path = Rc<[FunctionName]>;

/// A static access in a calling context.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Site {
    pub context: Path,
    pub segment: SegmentName,
    pub item: u32,
}

impl std::fmt::Debug for Site {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (image, segment) = self.segment;
        write!(f, "item {} of segment {image}.{segment} in", self.item)?;
        self.context.iter().try_for_each(|(image, function)| write!(f, " {image}.{function}"))
    }
}

/// A data object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Object {
    Unknown,
    Block {
        context: Path,
        site: Option<SegmentName>,
    },
    Mapping {
        context: Path,
        site: Option<SegmentName>,
        file: Option<String>,
    },
    /// Of an image, with its number there.
    Variable(u32, u32),
    /// Of an image, with its number in the image's table.
    Slot(u32, u32),
}

/// Something that happened.
#[derive(Clone, Debug)]
pub enum Happening {
    /// A function was called from what runs below it.
    Called {
        context: Path,
        counts: bool,
    },
    /// A segment was executed.
    Executed {
        context: Path,
        segment: SegmentName,
        times: u64,
    },
    /// A library function was called.
    CalledLibrary(Site),
    Load(Access),
    Store(Access),
    /// Bytes are dead.
    Dies {
        address: u64,
        len: u64,
    },
    /// Bytes are elsewhere from now on.
    Moves {
        from: u64,
        to: u64,
        len: u64,
    },
    Input {
        address: u64,
        len: u64,
    },
    Output {
        address: u64,
        len: u64,
    },
    /// Memory of an object begins to live.
    Begins {
        address: u64,
        len: u64,
        object: Object,
    },
    Ends {
        address: u64,
        len: u64,
    },
    /// A block is elsewhere, or of another size; if it was not known, it is this object.
    Becomes {
        from: u64,
        from_len: u64,
        to: u64,
        to_len: u64,
        object: Object,
    },
    FreesUnknown,
    /// Something of the region of interest.
    Interesting,
}

/// An access; nobody's if it is of code without hooks.
#[derive(Clone, Debug)]
pub struct Access {
    pub address: u64,
    pub len: u64,
    pub site: Option<Site>,
    /// Within the region of interest, and somebody's.
    pub counts: bool,
}

impl Access {
    pub fn bytes(&self) -> std::ops::Range<u64> {
        self.address..self.address + self.len
    }

    /// Who it is charged to.
    #[must_use]
    pub fn charged(&self) -> Option<&Site> {
        self.site.as_ref().filter(|_| self.counts)
    }
}

/// What the steps of a thread do; what counts is up to `roi`, if there is one.
#[must_use]
pub fn history(program: &Program, steps: &[Step], roi: Option<&dyn RegionOfInterest>) -> Vec<Happening> {
    let mut thread = Thread { program, roi, ..Thread::new(program) };
    steps.iter().for_each(|step| thread.step(step));
    thread.happened
}

struct Activation {
    function: FunctionName,
    cookie: Option<u64>,
    is_interesting: bool,
    /// Address and bytes of the variables that it has announced.
    slots: Vec<(u64, u64)>,
}

/// What may lie between the variables of a frame and of its caller: arrays of variable length, and frames without
/// variables. What is further away is on another stack.
const ROOM: u64 = 1 << 20;
/// For each frame without variables in between.
const ROOM_OF_FRAME: u64 = 1 << 12;

struct Thread<'a> {
    program: &'a Program,
    roi: Option<&'a dyn RegionOfInterest>,
    running: Vec<Activation>,
    open_regions: u64,
    met: BTreeSet<u32>,
    happened: Vec<Happening>,
}

impl<'a> Thread<'a> {
    fn new(program: &'a Program) -> Self {
        let (running, met, happened) = (Vec::new(), BTreeSet::new(), Vec::new());
        Self { program, roi: None, running, open_regions: 0, met, happened }
    }

    fn context(&self) -> Path {
        self.running.iter().map(|activation| activation.function).collect()
    }

    fn counts(&self) -> bool {
        self.roi.is_none() || self.open_regions > 0 || self.running.iter().any(|activation| activation.is_interesting)
    }

    fn step(&mut self, step: &Step) {
        if let Some(image) = step.image().filter(|image| self.met.insert(*image)) {
            for ((address, len), number) in self.program.variables(image).into_iter().zip(0..) {
                self.happened.push(Happening::Begins { address, len, object: Object::Variable(image, number) });
            }
        }
        match step {
            Step::Segment(segment, words) => self.segment(*segment, words),
            Step::Event(site, event) => self.event(*site, event),
            Step::Unknown(_) => panic!("what is lost depends on chunks"),
        }
    }

    /// Everything above the last activation of the function is gone; without any, it was entered unseen.
    fn resume(&mut self, function: FunctionName) {
        match self.running.iter().rposition(|activation| activation.function == function) {
            Some(at) => self.running.truncate(at + 1),
            None => self.running.push(Activation { function, cookie: None, is_interesting: false, slots: Vec::new() }),
        }
    }

    fn segment(&mut self, name: SegmentName, words: &[u64]) {
        let (program, function) = (self.program, self.program.function_of(name));
        let segment = program.segment(name);
        let has = |flag| segment.flags & flag != 0;
        let first_slot = first_slot(program, name);
        for (slot, number) in segment.slots.iter().zip(first_slot..) {
            let address = word(words, slot.word).wrapping_add_signed(slot.offset);
            let object = Object::Slot(name.0, number);
            self.happened.push(Happening::Begins { address, len: slot.size.into(), object });
        }
        let cookie = words.last().copied();
        if has(segment_flag::ENTER) {
            let is_interesting = self.roi.is_some_and(|roi| roi.matches_symbol(program.name_of(function)));
            let cookie = cookie.filter(|_| has(segment_flag::COOKIE));
            self.running.push(Activation { function, cookie, is_interesting, slots: Vec::new() });
            if is_interesting {
                self.happened.push(Happening::Interesting);
            }
            self.happened.push(Happening::Called { context: self.context(), counts: self.counts() });
        } else if has(segment_flag::LANDING) {
            let is_it = |activation: &Activation| activation.function == function && activation.cookie == cookie;
            match self.running.iter().rposition(is_it) {
                Some(at) => {
                    let lowest = self.running[at].slots.iter().map(|(address, _)| *address).chain(cookie).min();
                    self.abandon(at + 1, lowest);
                }
                None => self.resume(function),
            }
        } else {
            self.resume(function);
        }
        let context = self.context();
        let times = if segment.kind == SegmentKind::Loop { words[0] } else { 1 };
        if self.counts() {
            self.happened.push(Happening::Executed { context: context.clone(), segment: name, times });
        }
        for iteration in 0..times {
            for (item, number) in segment.items.iter().zip(0..) {
                let site = Site { context: context.clone(), segment: name, item: number };
                self.item(item, segment.kind, words, iteration, site);
            }
        }
        if has(segment_flag::EXIT) {
            self.leave(function);
        } else if let Some(running) = self.running.last_mut() {
            let slots = segment.slots.iter();
            running.slots.extend(slots.map(|s| (word(words, s.word).wrapping_add_signed(s.offset), s.size.into())));
        }
    }

    /// Control has left the activations from a depth on without a return. Their variables end, as far as these frames
    /// lie below each other and below an address on one stack.
    fn abandon(&mut self, depth: usize, below: Option<u64>) {
        let (mut floor, mut room) = (below, ROOM);
        for activation in self.running.split_off(depth) {
            let ends = activation.slots.iter().map(|(address, len)| address + len);
            let (Some(high), Some(low)) = (ends.max(), activation.slots.iter().map(|(address, _)| *address).min())
            else {
                room += ROOM_OF_FRAME;
                continue;
            };
            if floor.is_some_and(|floor| high > floor || floor - high > room) {
                break;
            }
            activation.slots.into_iter().for_each(|(address, len)| self.ends(address, len));
            (floor, room) = (Some(low), ROOM);
        }
    }

    /// The last activation of the function ends, and everything above it.
    fn leave(&mut self, function: FunctionName) {
        if let Some(at) = self.running.iter().rposition(|activation| activation.function == function) {
            self.running.truncate(at);
        }
    }

    fn item(&mut self, item: &Item, kind: SegmentKind, words: &[u64], iteration: u64, site: Site) {
        let mut address = word(words, item.word).wrapping_add_signed(item.offset);
        if kind == SegmentKind::Loop {
            let has_word = item.flags & item_flag::STRIDE_WORD != 0;
            let stride = if has_word { word(words, item.word2) as i64 } else { item.stride };
            // The words are those after the last iteration.
            address = address.wrapping_add_signed(stride * (iteration as i64 - words[0] as i64));
        }
        let size = u64::from(item.size);
        let is_dynamic = item.flags & item_flag::DYNAMIC != 0;
        let len = |index: u16| if is_dynamic { word(words, index) } else { size };
        let active = |lane: &u64| word(words, item.word2) >> lane & 1 == 1;
        let lanes: Vec<u64> = match ItemKind::from_number(item.kind) {
            Some(
                ItemKind::MaskedLoad
                | ItemKind::MaskedStore
                | ItemKind::Gather
                | ItemKind::Scatter
                | ItemKind::ExpandLoad
                | ItemKind::CompressStore,
            ) => (0..u64::from(item.lanes)).filter(active).collect(),
            _ => Vec::new(),
        };
        // Neighbouring lanes are one access.
        let rows =
            lanes.chunk_by(|lane, next| lane + 1 == *next).map(|row| (address + row[0] * size, row.len() as u64));
        match ItemKind::from_number(item.kind).expect("a kind of item") {
            ItemKind::Load => self.load(address, size, &site),
            ItemKind::Store => self.store(address, size, &site),
            ItemKind::Update => {
                self.load(address, size, &site);
                self.store(address, size, &site);
            }
            ItemKind::MaskedLoad => rows.for_each(|(first, lanes)| self.load(first, lanes * size, &site)),
            ItemKind::MaskedStore => rows.for_each(|(first, lanes)| self.store(first, lanes * size, &site)),
            ItemKind::Gather => {
                lanes.iter().for_each(|&lane| self.load(word(words, item.word + lane as u16), size, &site));
            }
            ItemKind::Scatter => {
                lanes.iter().for_each(|&lane| self.store(word(words, item.word + lane as u16), size, &site));
            }
            ItemKind::ExpandLoad => self.load(address, lanes.len() as u64 * size, &site),
            ItemKind::CompressStore => self.store(address, lanes.len() as u64 * size, &site),
            ItemKind::Copy => self.copy(address, word(words, item.word2), len(item.lanes), Some(&site)),
            ItemKind::Fill => self.fill(address, len(item.word2), Some(&site)),
            ItemKind::Kill => self.ends(address, len(item.word2)),
            ItemKind::Loop => {}
        }
    }

    fn access(&self, address: u64, len: u64, site: Option<&Site>) -> Access {
        Access { address, len, site: site.cloned(), counts: site.is_some() && self.counts() }
    }

    fn load(&mut self, address: u64, len: u64, site: &Site) {
        self.happened.push(Happening::Load(self.access(address, len, Some(site))));
    }

    fn store(&mut self, address: u64, len: u64, site: &Site) {
        self.happened.push(Happening::Store(self.access(address, len, Some(site))));
    }

    fn read(&mut self, address: u64, len: u64, site: Option<&Site>) {
        for (start, len) in blocks(len) {
            self.happened.push(Happening::Load(self.access(address + start, len, site)));
        }
    }

    fn fill(&mut self, address: u64, len: u64, site: Option<&Site>) {
        for (start, len) in blocks(len) {
            self.happened.push(Happening::Store(self.access(address + start, len, site)));
        }
    }

    fn copy(&mut self, to: u64, from: u64, len: u64, site: Option<&Site>) {
        for (start, len) in blocks(len) {
            self.happened.push(Happening::Load(self.access(from + start, len, site)));
            self.happened.push(Happening::Store(self.access(to + start, len, site)));
        }
    }

    /// What lies there is dead, and no object's any more.
    fn ends(&mut self, address: u64, len: u64) {
        self.happened.push(Happening::Ends { address, len });
        self.dies(address, len);
    }

    fn dies(&mut self, address: u64, len: u64) {
        if len > 0 {
            self.happened.push(Happening::Dies { address, len });
        }
    }

    /// Where a library function is called: its function runs. Counts the call.
    fn called_at(&mut self, site: Option<SegmentName>) -> Option<Site> {
        let segment = site?;
        self.resume(self.program.function_of(segment));
        let site = Site { context: self.context(), segment, item: 0 };
        if self.counts() {
            self.happened.push(Happening::CalledLibrary(site.clone()));
        }
        Some(site)
    }

    /// The calling context of an allocation.
    fn allocated_in(&mut self, site: Option<SegmentName>) -> Path {
        let Some(segment) = site else { return Path::from([]) };
        self.resume(self.program.function_of(segment));
        self.context()
    }

    fn event(&mut self, at: Option<SegmentName>, event: &Event) {
        match *event {
            Event::Read { address, len } => {
                let site = self.called_at(at);
                self.read(address, len, site.as_ref());
            }
            Event::Write { address, len } => {
                let site = self.called_at(at);
                self.fill(address, len, site.as_ref());
            }
            Event::Copy { to, from, len } => {
                let site = self.called_at(at);
                self.copy(to, from, len, site.as_ref());
            }
            Event::Alloc { address, len } => {
                self.ends(address, len);
                let object = Object::Block { context: self.allocated_in(at), site: at };
                self.happened.push(Happening::Begins { address, len, object });
            }
            Event::Mapped { address, len, ref file } => {
                let file = (!file.is_empty()).then(|| file.clone());
                let object = Object::Mapping { context: self.allocated_in(at), site: at, file };
                self.happened.push(Happening::Ends { address, len });
                self.happened.push(Happening::Begins { address, len, object });
            }
            Event::Free { address, len } => self.ends(address, len),
            Event::FreeUnknown => self.happened.push(Happening::FreesUnknown),
            Event::Relocate { from, from_len, to, to_len } => {
                let object = Object::Block { context: self.allocated_in(at), site: at };
                self.happened.push(Happening::Becomes { from, from_len, to, to_len, object });
                self.relocate(from, from_len, to, to_len);
            }
            Event::Input { address, len } => self.happened.push(Happening::Input { address, len }),
            Event::Output { address, len } => self.happened.push(Happening::Output { address, len }),
            Event::RegionBegin { ref name } if self.is_region(name) => {
                self.open_regions += 1;
                self.happened.push(Happening::Interesting);
            }
            Event::RegionEnd { ref name } if self.is_region(name) => {
                self.open_regions = self.open_regions.saturating_sub(1);
                self.happened.push(Happening::Interesting);
            }
            Event::RegionBegin { .. } | Event::RegionEnd { .. } => {}
            Event::Restart => self.abandon(0, None),
            Event::Synchronise(_) | Event::Clock { .. } | Event::Executed { .. } | Event::Paged { .. } => {}
        }
    }

    fn is_region(&self, name: &str) -> bool {
        self.roi.is_some_and(|roi| roi.matches_region(name))
    }

    /// The bytes that both blocks have move; those beyond are dead, and so is what was where the block comes to.
    fn relocate(&mut self, from: u64, from_len: u64, to: u64, to_len: u64) {
        let kept = from_len.min(to_len);
        if from != to {
            self.dies(to, to_len);
            self.happened.push(Happening::Moves { from, to, len: kept });
        }
        self.dies(from + kept, from_len - kept);
    }
}

/// A word of a record by its index there.
fn word(operands: &[u64], index: u16) -> u64 {
    operands[usize::from(index) - 1]
}

/// The blocks in which library functions and copies go over bytes: start and length.
fn blocks(len: u64) -> impl Iterator<Item = (u64, u64)> {
    (0..len).step_by(COPY_BLOCK as usize).map(move |start| (start, COPY_BLOCK.min(len - start)))
}

/// The number in the image's table of a segment's first variable.
fn first_slot(program: &Program, (image, number): SegmentName) -> u32 {
    let segments = program.images[image as usize].functions.iter().flat_map(|function| &function.segments);
    segments.take(number as usize).map(|segment| segment.slots.len() as u32).sum()
}
