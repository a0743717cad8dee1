//! Random programs of threads, locks and barriers against a simulator that is written as plainly as possible: a list
//! per stack, and the thread with the least turn does its next step.

use std::collections::BTreeMap;

use super::{cluster::Cluster, order::Order};
use crate::{
    abi::synchronise::Synchronise,
    analysis::{
        fast_paths::FastPaths,
        items::{Front, Items},
    },
    counts::cell::CellCounters,
    decode::event::Synchronised,
    engine::{Access, AccessTag, Kind, Stream},
    oplog::{Op, Ops},
};

#[derive(Clone, Debug)]
enum Step {
    Access(Access, u32),
    Run(Vec<Stream>, u64),
    Synchronise(Synchronise, u64, u64),
    Create(usize),
    Join(usize),
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

const THREADS: usize = 5;
const BARRIER: u64 = 1000;
const SEMAPHORE: u64 = 2000;

/// The first makes the others and joins them; all meet at barriers, and take locks and give them back between.
fn program(random: &mut Random) -> Vec<Vec<Step>> {
    let rounds = 1 + random.below(3);
    let mut threads: Vec<Vec<Step>> = (0..THREADS).map(|thread| steps(random, thread, rounds)).collect();
    let mut first = vec![
        Step::Synchronise(Synchronise::BarrierSize, BARRIER, THREADS as u64),
        Step::Synchronise(Synchronise::Units, SEMAPHORE, 1),
    ];
    first.extend((1..THREADS).flat_map(|thread| {
        let mut steps = work(random);
        steps.push(Step::Create(thread));
        steps
    }));
    first.append(&mut threads[0]);
    first.extend((1..THREADS).map(Step::Join));
    first.extend(work(random));
    threads[0] = first;
    threads
}

fn steps(random: &mut Random, thread: usize, rounds: u64) -> Vec<Step> {
    let mut steps = Vec::new();
    for round in 0..rounds {
        steps.extend(work(random));
        for _ in 0..random.below(4) {
            let lock = 64 * (1 + random.below(2));
            let (take, give) = match random.below(4) {
                0 => (Synchronise::LockShared, Synchronise::Unlock),
                1 => (Synchronise::Take, Synchronise::Post),
                _ => (Synchronise::Lock, Synchronise::Unlock),
            };
            let object = if take == Synchronise::Take { SEMAPHORE } else { lock };
            steps.push(Step::Synchronise(take, object, 0));
            steps.extend(work(random));
            steps.push(Step::Synchronise(give, object, 0));
            steps.extend(work(random));
        }
        if thread == 1 {
            steps.push(Step::Synchronise(Synchronise::Release, 8000, round + 1));
        } else if random.below(2) == 0 {
            steps.push(Step::Synchronise(Synchronise::Acquire, 8000, round + 1));
        }
        steps.push(Step::Synchronise(Synchronise::Barrier, BARRIER, 0));
    }
    steps.extend(work(random));
    steps
}

fn work(random: &mut Random) -> Vec<Step> {
    let mut steps = Vec::new();
    for _ in 0..random.below(30) {
        let kind = [Kind::Load, Kind::Load, Kind::Store, Kind::Remove][random.below(4) as usize];
        let access = Access { addr: 4096 + random.below(300), len: 1 + random.below(12) as u32, kind };
        steps.push(Step::Access(access, random.below(6) as u32));
        // The same bytes again, which are on the top unless another thread comes between.
        for _ in 0..random.below(3) {
            let kind = [Kind::Load, Kind::Store][random.below(2) as usize];
            steps.push(Step::Access(Access { kind, ..access }, random.below(6) as u32));
        }
    }
    if random.below(3) == 0 {
        let stream = |random: &mut Random, kind| Stream {
            addr: 6000 + random.below(200),
            stride: 8 * random.below(3) as i64,
            len: 8,
            kind,
        };
        let streams = vec![stream(random, Kind::Load), stream(random, Kind::Store), stream(random, Kind::Load)];
        steps.push(Step::Run(streams, 1 + random.below(60)));
    }
    steps
}

/// Bytes read, first touches and cost, by thread and cell.
type Counts = BTreeMap<(usize, u32), (u64, u64, u128)>;

/// The plain one.
struct Simulator {
    turn: u64,
    /// Most recent first.
    stacks: Vec<Vec<u64>>,
    at: Vec<usize>,
    clock: Vec<u64>,
    begun: Vec<bool>,
    blocked: Vec<bool>,
    owner: BTreeMap<u64, usize>,
    readers: BTreeMap<u64, Vec<usize>>,
    queue: BTreeMap<u64, Vec<(usize, bool)>>,
    free: BTreeMap<u64, (u64, u64)>,
    arrived: Vec<usize>,
    units: Vec<u64>,
    wanting: Vec<usize>,
    released: BTreeMap<u64, u64>,
    counts: Counts,
}

impl Simulator {
    fn run(turn: u64, threads: &[Vec<Step>], stack_of: impl Fn(usize) -> usize) -> (Counts, Vec<u64>) {
        // Runs as the accesses that they are.
        let threads: Vec<Vec<Step>> = threads.iter().map(|steps| steps.iter().flat_map(do_each).collect()).collect();
        let mut begun = vec![false; THREADS];
        begun[0] = true;
        let mut s = Simulator {
            turn,
            stacks: vec![Vec::new(); THREADS],
            at: vec![0; THREADS],
            clock: vec![0; THREADS],
            begun,
            blocked: vec![false; THREADS],
            owner: BTreeMap::new(),
            readers: BTreeMap::new(),
            queue: BTreeMap::new(),
            free: BTreeMap::new(),
            arrived: Vec::new(),
            units: Vec::new(),
            wanting: Vec::new(),
            released: BTreeMap::new(),
            counts: Counts::new(),
        };
        loop {
            let ready = (0..THREADS).filter(|&t| s.begun[t] && !s.blocked[t] && s.may_step(&threads, t));
            let Some(thread) = ready.min_by_key(|&t| (s.clock[t] / s.turn, t)) else { break };
            let step = threads[thread][s.at[thread]].clone();
            s.at[thread] += 1;
            s.step(thread, &step, stack_of(thread), &threads);
        }
        assert!((0..THREADS).all(|t| s.at[t] == threads[t].len()), "every thread came to its end");
        (s.counts, s.clock)
    }

    /// Waits for ends and for tickets are looked at again and again.
    fn may_step(&self, threads: &[Vec<Step>], thread: usize) -> bool {
        match threads[thread].get(self.at[thread]) {
            None => false,
            Some(Step::Join(other)) => self.begun[*other] && self.at[*other] == threads[*other].len(),
            Some(Step::Synchronise(Synchronise::Acquire, _, value)) => self.released.contains_key(value),
            Some(_) => true,
        }
    }

    fn step(&mut self, thread: usize, step: &Step, stack: usize, threads: &[Vec<Step>]) {
        match step {
            Step::Access(access, cell) => self.access(thread, *access, *cell, stack),
            Step::Run(..) => unreachable!("cut before"),
            Step::Create(other) => {
                self.begun[*other] = true;
                self.clock[*other] = self.clock[thread];
            }
            Step::Join(other) => {
                assert_eq!(self.at[*other], threads[*other].len());
                self.clock[thread] = self.clock[thread].max(self.clock[*other]);
            }
            Step::Synchronise(what, object, value) => self.synchronise(thread, *what, *object, *value),
        }
    }

    fn access(&mut self, thread: usize, access: Access, cell: u32, stack: usize) {
        let stack = &mut self.stacks[stack];
        if access.kind == Kind::Remove {
            stack.retain(|byte| !(access.addr..access.addr + u64::from(access.len)).contains(byte));
            return;
        }
        self.clock[thread] += 1;
        let bytes: Vec<u64> = (access.addr..access.addr + u64::from(access.len)).collect();
        if access.kind == Kind::Load {
            // All are priced against the stack as it is; those that are missing are below all of it.
            let entry = self.counts.entry((thread, cell)).or_default();
            let mut missing = 0;
            for byte in &bytes {
                let depth = stack.iter().position(|known| known == byte).unwrap_or_else(|| {
                    missing += 1;
                    stack.len() + missing - 1
                });
                entry.2 += ceil_root(depth as u64 + 1);
            }
            entry.0 += bytes.len() as u64;
            entry.1 += missing as u64;
        }
        for byte in &bytes {
            stack.retain(|known| known != byte);
            stack.insert(0, *byte);
        }
    }

    fn synchronise(&mut self, thread: usize, what: Synchronise, object: u64, value: u64) {
        let clock = self.clock[thread];
        match what {
            Synchronise::Lock | Synchronise::LockShared => {
                self.queue.entry(object).or_default().push((thread, what == Synchronise::LockShared));
                self.blocked[thread] = true;
                self.hand_on(object);
            }
            Synchronise::Unlock => {
                let free = self.free.entry(object).or_default();
                if self.owner.get(&object) == Some(&thread) {
                    self.owner.remove(&object);
                    free.0 = clock;
                } else {
                    free.1 = free.1.max(clock);
                    self.readers.entry(object).or_default().retain(|reader| *reader != thread);
                }
                self.hand_on(object);
            }
            Synchronise::Units => self.units = vec![clock; value as usize],
            Synchronise::Take if self.units.is_empty() => {
                self.blocked[thread] = true;
                self.wanting.push(thread);
            }
            Synchronise::Take => self.clock[thread] = clock.max(self.units.remove(0)),
            Synchronise::Post if self.wanting.is_empty() => self.units.push(clock),
            Synchronise::Post => {
                let next = self.wanting.remove(0);
                self.blocked[next] = false;
                self.clock[next] = self.clock[next].max(clock);
            }
            Synchronise::Release => _ = self.released.insert(value, clock),
            Synchronise::Acquire => {
                let last = self.released.iter().filter(|(ticket, _)| **ticket <= value).map(|(_, clock)| *clock).max();
                self.clock[thread] = clock.max(last.unwrap_or(0));
            }
            Synchronise::Barrier => {
                self.arrived.push(thread);
                self.blocked[thread] = true;
                if self.arrived.len() == THREADS {
                    let last = self.arrived.iter().map(|t| self.clock[*t]).max().unwrap_or(0);
                    for other in std::mem::take(&mut self.arrived) {
                        self.blocked[other] = false;
                        self.clock[other] = last;
                    }
                }
            }
            _ => {}
        }
    }

    /// Gives a lock to those who came first, as far as they can have it.
    fn hand_on(&mut self, object: u64) {
        let (written, read) = self.free.get(&object).copied().unwrap_or_default();
        while let Some(&(next, shared)) = self.queue.get(&object).and_then(|queue| queue.first()) {
            let has_readers = self.readers.get(&object).is_some_and(|readers| !readers.is_empty());
            if self.owner.contains_key(&object) || (!shared && has_readers) {
                return;
            }
            self.queue.entry(object).or_default().remove(0);
            self.blocked[next] = false;
            if shared {
                self.readers.entry(object).or_default().push(next);
                self.clock[next] = self.clock[next].max(written);
            } else {
                self.owner.insert(object, next);
                self.clock[next] = self.clock[next].max(written).max(read);
            }
        }
    }
}

fn ceil_root(depth: u64) -> u128 {
    let root = depth.isqrt();
    u128::from(root + u64::from(root * root < depth))
}

fn do_each(step: &Step) -> Vec<Step> {
    let Step::Run(streams, iterations) = step else { return vec![step.clone()] };
    let accesses = (0..*iterations).flat_map(|iteration| {
        let access = move |s: &Stream| Access { addr: s.address_at(iteration), len: s.len, kind: s.kind };
        streams.iter().zip(0..).map(move |(stream, cell)| Step::Access(access(stream), cell))
    });
    accesses.collect()
}

/// What the analysis makes of it.
fn measured(turn: u64, threads: &[Vec<Step>], stack_of: impl Fn(usize) -> usize, with_thread: bool) -> (Counts, u64) {
    let handle = |thread: usize| 0x7000 + thread as u64;
    let mut items: Vec<Items> = threads.iter().map(|steps| items_of(steps, handle)).collect();
    let mut order = Order::new(turn);
    let mut clusters: Vec<Cluster> =
        (0..THREADS).map(|_| Cluster::new(&FastPaths::default(), &[], with_thread)).collect();
    let mut known = vec![Vec::new(); THREADS];
    let mut ring_of = vec![0];
    order.begin(None, Some(handle(0)));
    while let Some(number) = order.next() {
        let thread: usize = ring_of[number as usize];
        let mut room = order.room(number);
        while room > 0 {
            match items[thread].front() {
                None => {
                    order.end(number);
                    break;
                }
                Some(Front::Work) => {
                    let mut worker = clusters[stack_of(thread)].worker(thread as u32, &mut known[thread]);
                    let done = items[thread].work(room, |op| worker.op(op));
                    order.advance(number, done);
                    room -= done;
                }
                Some(Front::Synchronise(event)) => {
                    items[thread].pass();
                    if event.what == Synchronise::Created {
                        order.begin(Some(number), Some(event.object));
                        ring_of.push((event.object - 0x7000) as usize);
                    }
                    order.event(number, event);
                    break;
                }
            }
        }
    }
    assert!(!order.force(), "nobody waits");
    let mut counts = Counts::new();
    for cluster in clusters {
        _ = cluster.finish(|ring, cell, found: &mut CellCounters| {
            let read = found.depths.iter().map(|(_, bytes)| bytes).sum();
            if read > 0 {
                counts.insert((ring as usize, cell.index() as u32), (read, found.cold, found.cost));
            }
        });
    }
    (counts, order.undefined.unmet)
}

fn items_of(steps: &[Step], handle: impl Fn(usize) -> u64) -> Items {
    let (mut items, mut ops) = (Items::default(), Ops::default());
    for step in steps {
        let (what, object, value) = match step {
            Step::Access(access, cell) => {
                ops.push(*access, AccessTag::new(*cell as usize));
                continue;
            }
            Step::Run(streams, iterations) => {
                let labels: Vec<AccessTag> = (0..streams.len()).map(AccessTag::new).collect();
                ops.add(Op::run(streams, &labels, *iterations));
                continue;
            }
            Step::Create(thread) => (Synchronise::Created, handle(*thread), 0),
            Step::Join(thread) => (Synchronise::Joined, handle(*thread), 0),
            Step::Synchronise(what, object, value) => (*what, *object, *value),
        };
        ops.add(Op::Sync(Synchronised { what, object, value, other: 0 }));
        // Some are of several.
        if value % 2 == 0 {
            items.push(std::mem::take(&mut ops));
        }
    }
    items.push(ops);
    items
}

#[test]
fn random_programs_are_counted_as_the_plain_simulator_counts_them() {
    let mut random = Random(2);
    for round in 0..150 {
        let threads = program(&mut random);
        let turn = [1, 2, 7, 64][round % 4];
        let together = |_: usize| 0;
        let (expected, _) = Simulator::run(turn, &threads, together);
        let (found, unmet) = measured(turn, &threads, together, round % 5 == 0);
        assert_eq!(found, expected, "program {round}, turns of {turn}");
        assert_eq!(unmet, 0);
    }
}

#[test]
fn clusters_are_stacks_of_their_own_in_the_same_order() {
    let mut random = Random(77);
    for round in 0..40 {
        let threads = program(&mut random);
        let in_pairs = |thread: usize| thread / 2;
        let (expected, _) = Simulator::run(3, &threads, in_pairs);
        assert_eq!(measured(3, &threads, in_pairs, false).0, expected, "program {round}");
    }
}

#[test]
fn one_thread_alone_is_as_private() {
    let mut random = Random(5);
    let mut threads = vec![Vec::new(); THREADS];
    threads[0] = (0..40).flat_map(|_| work(&mut random)).collect();
    let expected = Simulator::run(1, &threads, |_| 0).0;
    for turn in [1, 64] {
        assert_eq!(measured(turn, &threads, |_| 0, false).0, expected, "turns of {turn}");
    }
}

#[test]
fn what_cannot_be_is_let_go_on_and_counted() {
    let mut order = Order::new(1);
    let event = |what, object, value| Synchronised { what, object, value, other: 0 };
    let first = order.begin(None, None);
    let second = order.begin(None, None);
    // Nobody ever releases that.
    order.event(first, event(Synchronise::Acquire, 4096, 3));
    // A lock that is never given back, and one that its owner has twice.
    order.event(second, event(Synchronise::Lock, 64, 0));
    order.event(second, event(Synchronise::Lock, 64, 0));
    order.event(second, event(Synchronise::Unlock, 64, 0));
    order.end(second);
    assert_eq!(order.next(), None);
    assert!(order.force());
    assert_eq!(order.next(), Some(first));
    order.event(first, event(Synchronise::Lock, 64, 0));
    assert_eq!(order.next(), None);
    assert!(order.force());
    assert_eq!(order.next(), Some(first));
    order.end(first);
    assert!(!order.force());
    assert_eq!(order.undefined.unmet, 2);
}
