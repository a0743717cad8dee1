//! What one ring has the engine do, decoded and not done yet.
//!
//! Takes operations, gives them back in order, so many accesses at a time.

use std::collections::VecDeque;

use crate::{
    decode::event::Synchronised,
    engine::{Access, AccessTag, Kind, Stream},
    oplog::{Op, Ops, op::OpPosition},
};

/// What is at the front.
pub enum Front {
    Work,
    Synchronise(Synchronised),
}

#[derive(Default)]
pub struct Items {
    list: VecDeque<Ops>,
    /// How far the first was done.
    done: OpPosition,
    /// Accesses of the run there that were done, in order.
    of_run: u64,
    /// Lives of memory are kept too.
    pub wants_lives: bool,
}

impl Items {
    /// None yet; with `wants_lives`, lives of memory are kept too.
    #[must_use]
    pub fn new(wants_lives: bool) -> Self {
        Self { wants_lives, ..Self::default() }
    }

    pub fn push(&mut self, ops: Ops) {
        self.list.push_back(ops);
    }

    /// What waits takes so many bytes.
    #[must_use]
    pub fn heap_bytes(&self) -> u64 {
        self.list.iter().map(Ops::heap_bytes).sum()
    }

    /// What comes next; what is done goes.
    pub fn front(&mut self) -> Option<Front> {
        while let Some(ops) = self.list.front() {
            match ops.from(self.done).next() {
                Some(Op::Sync(event)) => return Some(Front::Synchronise(event)),
                Some(_) => return Some(Front::Work),
                None => _ = self.list.pop_front(),
            }
            self.done = OpPosition::default();
        }
        None
    }

    /// Tells of everything that waits, none of which was begun.
    pub fn tell(&self, tell: impl FnMut(Op<'_>)) {
        self.list.iter().flat_map(Ops::each).for_each(tell);
    }

    /// Goes on behind what is at the front.
    pub fn pass(&mut self) {
        if let Some(op) = self.list.front().and_then(|ops| ops.from(self.done).next()) {
            self.done.pass(&op);
        }
    }

    /// Has `worker` do what is at the front, up to so many loads and stores and up to where threads wait for each
    /// other; how many there were. The rest takes no time.
    pub fn work(&mut self, most: u64, mut worker: impl FnMut(Op<'_>)) -> u64 {
        let Self { list, done, of_run, .. } = self;
        let mut left = most;
        let Some(ops) = list.front() else { return 0 };
        for mut op in ops.from(*done) {
            // What takes no time comes with the access behind it.
            if left == 0 || matches!(op, Op::Sync(_)) {
                break;
            }
            match &mut op {
                Op::Accesses { accesses, labels } => {
                    let (number, timed) = up_to(accesses, left);
                    (*accesses, *labels) = (&accesses[..number], &labels[..number]);
                    left -= timed;
                    worker(op);
                }
                Op::Run { streams, labels, iterations } => {
                    let (some, whole) = part_of_run(streams, labels, *iterations, *of_run, left, &mut worker);
                    left -= some;
                    *of_run = if whole { 0 } else { *of_run + some };
                    if !whole {
                        break;
                    }
                }
                _ => worker(op),
            }
            done.pass(&op);
        }
        most - left
    }
}

/// How many accesses from the start take so much time at most, and how much that is. What takes none behind the last is
/// not among them.
fn up_to(accesses: &[Access], most: u64) -> (usize, u64) {
    let (mut number, mut timed) = (0, 0);
    while timed < most && number < accesses.len() {
        // As if all that follow took time.
        let next = accesses.len().min(number.saturating_add((most - timed) as usize));
        timed += accesses[number..next].iter().filter(|access| access.kind != Kind::Remove).count() as u64;
        number = next;
    }
    (number, timed)
}

/// Does accesses of a run from one on, up to so many; how many, and whether that was the rest.
fn part_of_run(
    streams: &[Stream],
    labels: &[AccessTag],
    iterations: u64,
    from: u64,
    most: u64,
    worker: &mut impl FnMut(Op<'_>),
) -> (u64, bool) {
    let width = streams.len() as u64;
    let left = iterations * width - from;
    let mut rest = left.min(most);
    let (mut iteration, mut stream) = (from / width, from % width);
    let one_by_one = |iteration: u64, range: std::ops::Range<u64>, worker: &mut dyn FnMut(Op<'_>)| {
        let these = range.start as usize..range.end as usize;
        for (stream, label) in streams[these.clone()].iter().zip(&labels[these]) {
            let accesses = &[stream.access(iteration)];
            worker(Op::accesses(accesses, std::slice::from_ref(label)));
        }
    };
    if stream > 0 {
        let some = rest.min(width - stream);
        one_by_one(iteration, stream..stream + some, worker);
        rest -= some;
        stream = (stream + some) % width;
        iteration += u64::from(stream == 0);
    }
    let whole = rest / width;
    if whole > 0 && stream == 0 {
        let moved: Vec<Stream> = streams.iter().map(|s| Stream { addr: s.address_at(iteration), ..*s }).collect();
        worker(Op::run(&moved, labels, whole));
        rest -= whole * width;
        iteration += whole;
    }
    one_by_one(iteration, stream..stream + rest, worker);
    (left.min(most), left <= most)
}
