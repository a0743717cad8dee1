//! Random programs, and random threads of them.
//!
//! Takes a number for the code, and operations, which proptest makes and shrinks; gives functions whose segments have
//! any items, and steps as a thread of them could write them down: with calls and returns, frames that are left at
//! once, rows of records and loops, blocks of the heap that begin, move and end.

use proptest::prelude::*;

use super::{
    program::{Function, FunctionName, Image, Program, Segment, SegmentName, item},
    steps::Step,
};
use crate::{
    abi::{Item, ItemKind, Slot, item_flag, segment_flag},
    decode::event::Event,
};

/// So many cases for 256 that proptest would try.
pub fn cases(of_256: u32) -> ProptestConfig {
    let usual = ProptestConfig::default();
    ProptestConfig { cases: (usual.cases * of_256).div_ceil(256), ..usual }
}

/// Names of the functions of each image.
const NAMES: [&[&str]; 2] = [&["main", "work", "leaf"], &["plugin", "helper"]];
/// The region that operations begin and end; and another one.
pub const REGION: &str = "a region";
const OTHER_REGION: &str = "another region";

/// What the segments of a function are.
mod part {
    pub const ENTER: usize = 0;
    pub const EXIT: usize = 1;
    pub const LANDING: usize = 2;
    pub const CALL: usize = 3;
    pub const LOOP: usize = 4;
    pub const VECTOR: usize = 5;
    /// And what follows.
    pub const BODY: usize = 6;
}
const BODIES: usize = 3;
/// Operands of a body.
const OPERANDS: u16 = 3;
/// Bytes of the variable on the stack that each activation has.
const SLOT: u32 = 24;

/// One operation of a thread. Numbers stand for whatever there is to choose from.
#[derive(Clone, Debug)]
pub enum Op {
    Call(u8),
    Return,
    /// Control comes to a frame below at once.
    Land(u8),
    /// The same, and nobody says so.
    Vanish(u8),
    Body(u8, [u16; 3]),
    /// Records of one or two bodies, again and again, with steps from each to the next.
    Row {
        bodies: (u8, Option<u8>),
        at: [u16; 3],
        steps: [i8; 3],
        times: u8,
    },
    Loop {
        at: u16,
        step: i8,
        times: u8,
    },
    Vector([u16; 4], u8),
    Allocate(u8, bool),
    /// A large block, of which little is touched.
    AllocateLarge,
    Free(u8),
    Resize(u8, u8, bool),
    Map(u8, bool),
    /// Library functions, with a call site or without.
    Read(u16, u8, bool),
    Write(u16, u8, bool),
    Copy(u16, u16, u8, bool),
    Input(u16, u8),
    Output(u16, u8),
    Region(bool, bool),
    FreeUnknown,
    Restart,
}

/// Any operation.
pub fn op() -> impl Strategy<Value = Op> {
    let at = any::<[u16; 3]>;
    let step = || prop::sample::select(vec![0i8, 8, 8, 8, 4, -8, 16, 1]);
    let steps = (step(), step(), step()).prop_map(|(a, b, c)| [a, b, c]);
    let alike = step().prop_map(|step| [step; 3]);
    let steps = prop_oneof![alike, steps];
    let body = any::<u8>;
    let bodies = (body(), prop::option::weighted(0.3, body()));
    let sited = || prop::bool::weighted(0.8);
    let small = || prop_oneof![4 => 1u8..40, 1 => 60u8..150];
    prop_oneof![
        6 => any::<u8>().prop_map(Op::Call),
        5 => Just(Op::Return),
        1 => any::<u8>().prop_map(Op::Land),
        1 => any::<u8>().prop_map(Op::Vanish),
        12 => (body(), at()).prop_map(|(body, at)| Op::Body(body, at)),
        4 => (bodies, at(), steps, 2u8..40).prop_map(|(bodies, at, steps, times)| Op::Row { bodies, at, steps, times }),
        3 => (any::<u16>(), step(), 0u8..40).prop_map(|(at, step, times)| Op::Loop { at, step, times }),
        3 => (any::<[u16; 4]>(), any::<u8>()).prop_map(|(at, mask)| Op::Vector(at, mask)),
        3 => (small(), sited()).prop_map(|(len, sited)| Op::Allocate(len, sited)),
        1 => Just(Op::AllocateLarge),
        2 => any::<u8>().prop_map(Op::Free),
        2 => (any::<u8>(), small(), sited()).prop_map(|(block, len, sited)| Op::Resize(block, len, sited)),
        1 => (small(), any::<bool>()).prop_map(|(len, named)| Op::Map(len, named)),
        2 => (any::<u16>(), small(), sited()).prop_map(|(at, len, sited)| Op::Read(at, len, sited)),
        2 => (any::<u16>(), small(), sited()).prop_map(|(at, len, sited)| Op::Write(at, len, sited)),
        2 => (any::<u16>(), any::<u16>(), small(), sited()).prop_map(|(to, from, len, sited)| Op::Copy(to, from, len, sited)),
        1 => (any::<u16>(), small()).prop_map(|(at, len)| Op::Input(at, len)),
        1 => (any::<u16>(), small()).prop_map(|(at, len)| Op::Output(at, len)),
        2 => (any::<bool>(), prop::bool::weighted(0.8)).prop_map(|(begins, ours)| Op::Region(begins, ours)),
        1 => Just(Op::FreeUnknown),
        1 => Just(Op::Restart),
    ]
}

/// Operations of a thread.
pub fn ops(most: usize) -> impl Strategy<Value = Vec<Op>> {
    prop::collection::vec(op(), 1..most)
}

/// Numbers from a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }
}

/// The code of a number.
#[must_use]
pub fn program(number: u64) -> Program {
    let mut random = Random(number);
    let image = |names: &&[&str]| Image {
        functions: names.iter().map(|name| function(name, &mut random)).collect(),
        variables: vec![24, 100, 40],
    };
    Program { images: NAMES.iter().map(image).collect() }
}

fn function(name: &str, random: &mut Random) -> Function {
    let slot = Slot { word: 1, size: SLOT, ..Slot::default() };
    let enter = Segment { slots: vec![slot], ..Segment::block(1, accesses(2, 1, random)) };
    let enter = enter.with(segment_flag::ENTER | random.one_of(&[0, segment_flag::COOKIE]));
    let mut last = accesses(2, 1, random);
    last.push(item(ItemKind::Kill, 1, 0, SLOT));
    let exit = Segment::block(1, last).with(segment_flag::EXIT);
    let landing = Segment::block(1, accesses(2, 1, random)).with(segment_flag::LANDING);
    let mut segments = vec![enter, exit, landing, Segment::call_site(), a_loop(random), vectors(random)];
    segments.extend((0..BODIES).map(|_| Segment::block(OPERANDS, accesses(5, OPERANDS, random))));
    Function { name: name.into(), segments }
}

/// Loads and stores, some of the same bytes as the one before.
fn accesses(most: u64, operands: u16, random: &mut Random) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    let size = random.one_of(&[4, 8]);
    for _ in 0..random.below(most + 1) {
        let kind = random.one_of(&[ItemKind::Load, ItemKind::Load, ItemKind::Store]);
        let (word, offset) = (1 + random.below(operands.into()) as u16, random.one_of(&[0, 0, 0, 8, -8, 4]));
        let size = random.one_of(&[size, size, size, 1, 2, 16]);
        match items.last() {
            Some(before) if random.below(3) == 0 => items.push(Item { kind: kind as u8, ..*before }),
            _ => items.push(item(kind, word, offset, size)),
        }
    }
    if random.below(4) == 0 {
        items.push(item(ItemKind::Update, 1, 0, size));
    }
    items
}

/// A loop: word 1 has its iterations, word 2 where it would go on, and word 3 a step.
fn a_loop(random: &mut Random) -> Segment {
    let stream = |random: &mut Random| {
        let kind = random.one_of(&[ItemKind::Load, ItemKind::Load, ItemKind::Store, ItemKind::Update]);
        let plain = item(kind, 2, random.one_of(&[0, 0, 8, 16]), random.one_of(&[4, 8, 8]));
        match random.below(3) {
            0 => Item { flags: item_flag::STRIDE_WORD, word2: 3, ..plain },
            1 => Item { stride: 0, ..plain },
            _ => Item { stride: 8, ..plain },
        }
    };
    Segment::of_loop(3, (0..1 + random.below(4)).map(|_| stream(random)).collect())
}

/// Items of all kinds: words 1, 3 and 4 are addresses, word 2 is a mask or a number of bytes.
fn vectors(random: &mut Random) -> Segment {
    use ItemKind::{CompressStore, Copy, ExpandLoad, Fill, Gather, Kill, MaskedLoad, MaskedStore, Scatter};
    let kinds = [MaskedLoad, MaskedStore, Gather, Scatter, ExpandLoad, CompressStore, Copy, Fill, Kill];
    let any = |random: &mut Random| match random.one_of(&kinds) {
        kind @ (Gather | Scatter) => Item { word2: 2, lanes: 2, ..item(kind, 3, 0, random.one_of(&[4, 8])) },
        kind @ (MaskedLoad | MaskedStore | ExpandLoad | CompressStore) => {
            Item { word2: 2, lanes: 8, ..item(kind, 1, 0, random.one_of(&[1, 4])) }
        }
        Copy if random.below(2) == 0 => Item { word2: 3, lanes: 2, flags: item_flag::DYNAMIC, ..item(Copy, 4, 0, 0) },
        Copy => Item { word2: 3, ..item(Copy, 4, 0, 72) },
        kind if random.below(2) == 0 => Item { word2: 2, flags: item_flag::DYNAMIC, ..item(kind, 1, 0, 0) },
        kind => item(kind, 1, 0, 16),
    };
    Segment::block(4, (0..1 + random.below(3)).map(|_| any(random)).collect())
}

/// Steps of a thread that does these operations; threads use memory of their own, and the variables of all.
#[must_use]
pub fn steps(program: &Program, ops: &[Op], thread: u64) -> Vec<Step> {
    let mut machine = Machine { program, thread, steps: Vec::new(), frames: Vec::new(), blocks: Vec::new(), calls: 0 };
    ops.iter().for_each(|op| machine.does(op));
    machine.steps
}

struct Frame {
    function: FunctionName,
    cookie: u64,
    slot: u64,
}

struct Machine<'a> {
    program: &'a Program,
    thread: u64,
    steps: Vec<Step>,
    frames: Vec<Frame>,
    /// Blocks of the heap, and mappings: address and bytes.
    blocks: Vec<(u64, u64)>,
    calls: u64,
}

/// Where the large block is in the heap.
const LARGE: u64 = 1 << 16;

impl Machine<'_> {
    /// The function that runs; it begins if there is none.
    fn function(&mut self) -> FunctionName {
        if self.frames.is_empty() {
            self.call(0);
        }
        self.frames[self.frames.len() - 1].function
    }

    /// A segment of the function that runs.
    fn segment(&mut self, part: usize) -> SegmentName {
        let function = self.function();
        self.program.segment_of(function, part)
    }

    fn site(&mut self, is_known: bool) -> Option<SegmentName> {
        is_known.then(|| self.segment(part::CALL))
    }

    fn event(&mut self, site: Option<SegmentName>, event: Event) {
        self.steps.push(Step::Event(site, event));
    }

    /// Some address: in a variable of the image that runs, on the stack, in a block, or elsewhere.
    fn address(&mut self, choice: u16) -> u64 {
        let (region, at) = (choice % 5, u64::from(choice / 5));
        let (image, _) = self.function();
        match region {
            0 => {
                let variables = self.program.variables(image);
                let (start, len) = variables[at as usize % variables.len()];
                start + at / 4 % len
            }
            1 => self.frames[self.frames.len() - 1].slot + at % u64::from(SLOT),
            2 | 3 if !self.blocks.is_empty() => {
                let (start, len) = self.blocks[at as usize % self.blocks.len()];
                start + at / 8 % len.min(64)
            }
            _ => (1 << 32) + at % 150,
        }
    }

    /// The same, as most addresses of words are.
    fn aligned(&mut self, choice: u16) -> u64 {
        let address = self.address(choice);
        if choice.is_multiple_of(7) { address } else { address & !7 }
    }

    fn call(&mut self, choice: u8) {
        let all: Vec<FunctionName> =
            (0..).zip(NAMES).flat_map(|(image, names)| (0..names.len() as u32).map(move |at| (image, at))).collect();
        let function = all[usize::from(choice) % all.len()];
        let depth = self.frames.len() as u64;
        self.calls += 1;
        let frame =
            Frame { function, cookie: self.calls, slot: (0x7f00 + self.thread) << 32 | (4096 - 32 * (depth % 64)) };
        let segment = self.program.segment_of(function, part::ENTER);
        let has_cookie = self.program.segment(segment).flags & segment_flag::COOKIE != 0;
        let words = [frame.slot].into_iter().chain(has_cookie.then_some(frame.cookie)).collect();
        self.steps.push(Step::Segment(segment, words));
        self.frames.push(frame);
    }

    fn body(&mut self, number: u8, words: [u64; 3]) {
        let segment = self.segment(part::BODY + usize::from(number) % BODIES);
        self.steps.push(Step::Segment(segment, words.to_vec()));
    }

    /// Room for a block that nothing lies in.
    fn room(&mut self, len: u64) -> u64 {
        // Places come again.
        let start = (2 + self.thread) << 40;
        let is_free = |at: &u64| self.blocks.iter().all(|(block, bytes)| at + len <= *block || block + bytes <= *at);
        (0..).map(|number| start + 16 * number).find(is_free).expect("room")
    }

    fn does(&mut self, op: &Op) {
        let len = |len: u8| u64::from(len);
        match *op {
            Op::Call(function) => self.call(function),
            Op::Return => {
                self.function();
                let segment = self.segment(part::EXIT);
                let frame = self.frames.pop().expect("it runs");
                self.steps.push(Step::Segment(segment, vec![frame.slot]));
            }
            Op::Land(frame) => {
                self.function();
                self.frames.truncate(1 + usize::from(frame) % self.frames.len());
                let segment = self.segment(part::LANDING);
                let Frame { slot, cookie, .. } = self.frames[self.frames.len() - 1];
                self.steps.push(Step::Segment(segment, vec![slot, cookie]));
            }
            Op::Vanish(frame) => {
                self.function();
                self.frames.truncate(1 + usize::from(frame) % self.frames.len());
                self.body(frame, [1 << 32; 3]);
            }
            Op::Body(number, at) => {
                let words = at.map(|at| self.aligned(at));
                self.body(number, words);
            }
            Op::Row { bodies: (first, second), at, steps, times } => self.row(first, second, at, steps, times),
            Op::Loop { at, step, times } => {
                let (segment, start) = (self.segment(part::LOOP), self.aligned(at));
                let words = vec![len(times), start, step as i64 as u64];
                self.steps.push(Step::Segment(segment, words));
            }
            Op::Vector(at, mask) => {
                let segment = self.segment(part::VECTOR);
                let [a, b, c, _] = at.map(|at| self.address(at));
                self.steps.push(Step::Segment(segment, vec![a, len(mask), b, c]));
            }
            Op::Read(at, bytes, is_known) => {
                let (address, site) = (self.address(at), self.site(is_known));
                self.event(site, Event::Read { address, len: len(bytes) });
            }
            Op::Write(at, bytes, is_known) => {
                let (address, site) = (self.address(at), self.site(is_known));
                self.event(site, Event::Write { address, len: len(bytes) });
            }
            Op::Copy(to, from, bytes, is_known) => {
                let (to, from, site) = (self.address(to), self.address(from), self.site(is_known));
                self.event(site, Event::Copy { to, from, len: len(bytes) });
            }
            Op::Input(at, bytes) => {
                let address = self.address(at);
                self.event(None, Event::Input { address, len: len(bytes) });
            }
            Op::Output(at, bytes) => {
                let address = self.address(at);
                self.event(None, Event::Output { address, len: len(bytes) });
            }
            Op::Region(begins, ours) => {
                let name = if ours { REGION } else { OTHER_REGION }.to_owned();
                self.event(None, if begins { Event::RegionBegin { name } } else { Event::RegionEnd { name } });
            }
            Op::FreeUnknown => self.event(None, Event::FreeUnknown),
            Op::Restart => {
                self.frames.clear();
                self.event(None, Event::Restart);
            }
            Op::Allocate(..) | Op::AllocateLarge | Op::Free(_) | Op::Resize(..) | Op::Map(..) => self.heap(op),
        }
    }

    fn row(&mut self, first: u8, second: Option<u8>, at: [u16; 3], steps: [i8; 3], times: u8) {
        let mut words = at.map(|at| self.aligned(at) & !7);
        for _ in 0..times {
            self.body(first, words);
            if let Some(second) = second {
                self.body(second, words);
            }
            words.iter_mut().zip(steps).for_each(|(word, step)| *word = word.wrapping_add_signed(step.into()));
        }
    }

    fn heap(&mut self, op: &Op) {
        match *op {
            Op::Allocate(len, is_known) => {
                let (address, site) = (self.room(len.into()), self.site(is_known));
                self.blocks.push((address, len.into()));
                self.event(site, Event::Alloc { address, len: len.into() });
            }
            Op::AllocateLarge => {
                let (address, len) = (((2 + self.thread) << 40) + LARGE, 8192);
                if !self.blocks.contains(&(address, len)) {
                    self.blocks.push((address, len));
                    let site = self.site(true);
                    self.event(site, Event::Alloc { address, len });
                }
            }
            Op::Map(len, is_named) => {
                let (address, site) = (self.room(len.into()), self.site(true));
                let file = if is_named { "a file" } else { "" }.to_owned();
                self.blocks.push((address, len.into()));
                self.event(site, Event::Alloc { address, len: len.into() });
                self.event(site, Event::Mapped { address, len: len.into(), file });
            }
            Op::Free(block) if !self.blocks.is_empty() => {
                let (address, len) = self.blocks.remove(usize::from(block) % self.blocks.len());
                self.event(None, Event::Free { address, len });
            }
            Op::Resize(block, len, is_known) if !self.blocks.is_empty() => {
                let block = usize::from(block) % self.blocks.len();
                let (from, from_len) = self.blocks[block];
                let to_len = u64::from(len);
                let to = if to_len <= from_len { from } else { self.room(to_len) };
                let site = self.site(is_known);
                self.blocks[block] = (to, to_len);
                self.event(site, Event::Relocate { from, from_len, to, to_len });
            }
            _ => {}
        }
    }
}
