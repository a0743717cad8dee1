//! What one ring has the engine do, decoded and not done yet.
//!
//! Takes queues of accesses and affine runs, and what stands between them; gives them back in order, so many accesses
//! at a time.

use std::collections::VecDeque;

use crate::{
    decode::event::Synchronised,
    engine::{Access, Kind, Label, Stream},
    session::{lives::Life, queue::Queue},
};

/// Something in the order of a ring.
pub enum Item {
    Queue(Queue),
    Relocate { from: u64, to: u64, len: u64 },
    Input { address: u64, len: u64 },
    Synchronise(Synchronised),
}

/// What is at the front.
pub enum Front {
    Work,
    Synchronise(Synchronised),
}

/// Who does it.
pub trait Worker {
    /// Accesses in order, each with its label.
    fn accesses(&mut self, accesses: &[Access], labels: &[Label]);
    fn run(&mut self, streams: &[Stream], labels: &[Label], iterations: u64);
    fn relocate(&mut self, from: u64, to: u64, len: u64);
    fn input(&mut self, address: u64, len: u64);
    fn life(&mut self, life: &Life);
}

/// How far the first queue was done.
#[derive(Clone, Copy, Default)]
struct Done {
    accesses: usize,
    runs: usize,
    lives: usize,
    /// Streams of those runs.
    streams: usize,
    /// Accesses of the run at hand, in order.
    of_run: u64,
}

#[derive(Default)]
pub struct Items {
    list: VecDeque<Item>,
    done: Done,
    /// Lives of memory are kept too.
    pub wants_lives: bool,
}

impl Items {
    /// None yet; with `wants_lives`, lives of memory are kept too.
    #[must_use]
    pub fn new(wants_lives: bool) -> Self {
        Self { wants_lives, ..Self::default() }
    }

    pub fn push(&mut self, item: Item) {
        self.list.push_back(item);
    }

    /// Accesses that wait.
    #[must_use]
    pub fn heap_bytes(&self) -> u64 {
        let bytes = |item: &Item| match item {
            Item::Queue(queue) => 20 * queue.accesses.len() + 28 * queue.streams.len() + 64 * queue.lives.len(),
            _ => 0,
        };
        self.list.iter().map(bytes).sum::<usize>() as u64
    }

    /// What comes next; queues that are done go.
    pub fn front(&mut self) -> Option<Front> {
        while let Some(item) = self.list.front() {
            match item {
                Item::Queue(queue)
                    if self.done.accesses == queue.accesses.len()
                        && self.done.runs == queue.runs.len()
                        && self.done.lives == queue.lives.len() =>
                {
                    self.list.pop_front();
                    self.done = Done::default();
                }
                Item::Synchronise(event) => return Some(Front::Synchronise(*event)),
                _ => return Some(Front::Work),
            }
        }
        None
    }

    /// Tells `worker` of everything that waits, none of which was begun.
    pub fn tell(&self, worker: &mut impl Worker) {
        for item in &self.list {
            match item {
                Item::Queue(queue) => queue.each(worker, Worker::accesses, Worker::run),
                Item::Relocate { from, to, len } => worker.relocate(*from, *to, *len),
                Item::Input { address, len } => worker.input(*address, *len),
                Item::Synchronise(_) => {}
            }
        }
    }

    /// Takes what is at the front away.
    pub fn pop(&mut self) {
        self.list.pop_front();
    }

    /// Has `worker` do what is at the front, up to so many loads and stores; how many there were. The rest takes no
    /// time.
    pub fn work(&mut self, most: u64, worker: &mut impl Worker) -> u64 {
        let queue = match self.list.front() {
            Some(Item::Queue(queue)) => queue,
            Some(Item::Relocate { from, to, len }) => {
                worker.relocate(*from, *to, *len);
                self.pop();
                return 0;
            }
            Some(Item::Input { address, len }) => {
                worker.input(*address, *len);
                self.pop();
                return 0;
            }
            _ => return 0,
        };
        let mut left = most;
        loop {
            let next = queue.runs.get(self.done.runs);
            let end = next.map_or(queue.accesses.len(), |run| run.after);
            let life = queue.lives.get(self.done.lives).filter(|life| life.runs == self.done.runs);
            let end = life.map_or(end, |life| life.accesses.min(end));
            while self.done.accesses < end {
                // What takes no time comes with the access behind it.
                if left == 0 {
                    return most;
                }
                let first = self.done.accesses;
                let (number, timed) = up_to(&queue.accesses[first..end], left);
                let these = first..first + number;
                worker.accesses(&queue.accesses[these.clone()], &queue.labels[these]);
                left -= timed;
                self.done.accesses += number;
            }
            if left > 0
                && let Some(life) = life
            {
                worker.life(&life.life);
                self.done.lives += 1;
                continue;
            }
            let Some(run) = next.filter(|_| left > 0) else { return most - left };
            let these = self.done.streams..self.done.streams + run.streams;
            let (streams, labels) = (&queue.streams[these.clone()], &queue.stream_labels[these]);
            let (done, whole) = part_of_run(streams, labels, run.iterations, self.done.of_run, left, worker);
            left -= done;
            self.done.of_run += done;
            if !whole {
                return most - left;
            }
            self.done.runs += 1;
            self.done.streams += run.streams;
            self.done.of_run = 0;
        }
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
    labels: &[Label],
    iterations: u64,
    from: u64,
    most: u64,
    worker: &mut impl Worker,
) -> (u64, bool) {
    let width = streams.len() as u64;
    let left = iterations * width - from;
    let mut rest = left.min(most);
    let (mut iteration, mut stream) = (from / width, from % width);
    let singly = |iteration: u64, range: std::ops::Range<u64>, worker: &mut _| {
        let these = range.start as usize..range.end as usize;
        for (stream, label) in streams[these.clone()].iter().zip(&labels[these]) {
            Worker::accesses(worker, &[stream.access(iteration)], std::slice::from_ref(label));
        }
    };
    if stream > 0 {
        let some = rest.min(width - stream);
        singly(iteration, stream..stream + some, worker);
        rest -= some;
        stream = (stream + some) % width;
        iteration += u64::from(stream == 0);
    }
    let whole = rest / width;
    if whole > 0 && stream == 0 {
        let moved: Vec<Stream> = streams.iter().map(|s| Stream { addr: s.at(iteration), ..*s }).collect();
        worker.run(&moved, labels, whole);
        rest -= whole * width;
        iteration += whole;
    }
    singly(iteration, stream..stream + rest, worker);
    (left.min(most), left <= most)
}
