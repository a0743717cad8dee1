//! Serves every ring of a channel while the program runs.
//!
//! Takes a [`Channel`] and [`Options`], gives a [`Measurement`]. Rings are independent (each thread has a stack of its
//! own), so workers share nothing but the table of modules; the sum does not depend on which worker served which ring,
//! or when.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use super::{
    early::{Analyses, EarlyRing},
    interleave,
    merge::{Measurement, Merger},
    modules::{ModuleTable, Source},
    options::Options,
    progress::Progress,
    replayer::{CutShort, Replayer},
    shards::Pool,
};
use crate::{
    abi::CHUNK_BYTES,
    cycles::Follower,
    decode::locator::{ModuleSource, Placed},
    ring::{Channel, RingReader},
    trace::RingRecorder,
};

/// Lets the program go on if its analysis cannot: it would wait for ever for room in a ring that nobody reads.
struct AbandonOnPanic<'a>(&'a Channel);

impl Drop for AbandonOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.abandon();
        }
    }
}

/// Serves the channel until the program has ended and its rings are empty.
#[must_use]
pub fn serve(channel: &Channel, options: &Options, progress: &Progress) -> Measurement {
    let modules = ModuleTable::live(channel.sites(), options.trace.clone());
    let workers = options.workers.max(1);
    let served = AtomicBool::new(false);
    // Without a thread for it, a worker reads what processes load.
    let alone = AtomicBool::new(false);
    let pool = Arc::new(Pool::new(workers));
    let early = Analyses::from_options(options);
    let work = |number, workers| {
        let _abandon = AbandonOnPanic(channel);
        let (modules, pool, alone, early) = (&modules, &pool, &alone, &early);
        Worker { channel, options, progress, modules, pool, alone, early, number, workers }.run()
    };
    let mergers: Vec<Mergers> = crossbeam::scope(|scope| {
        let _ended = EndsReading(&served);
        let librarian = scope.builder().spawn(|_| {
            let _abandon = AbandonOnPanic(channel);
            read_modules(channel, options, &modules, &served);
        });
        alone.store(librarian.is_err(), Ordering::Relaxed);
        let mut threads = Vec::new();
        for number in 1..workers {
            let (tell, told) = crossbeam::channel::bounded(1);
            let work = &work;
            // Where the system gives no more threads, those that there are do all of it.
            let spawned = scope.builder().spawn(move |_| Some(work(number, told.recv().ok()?)));
            let Ok(thread) = spawned else { break };
            threads.push((thread, tell));
        }
        let workers = threads.len() + 1;
        // Each has room for the one number.
        threads.iter().for_each(|(_, tell)| _ = tell.send(workers));
        let own = work(0, workers);
        let others = threads
            .into_iter()
            .filter_map(|(thread, _)| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        std::iter::once(own).chain(others).collect()
    })
    .unwrap_or_else(|panic| std::panic::resume_unwind(panic));

    let mut all = Mergers::for_analyses(&early);
    for mergers in mergers {
        all.absorb(mergers);
    }
    interleave::analyse(&mut all.whole, options, &modules);
    let mut measurement = early.choose(all.early, all.whole.measurement, options);
    if measurement.cut_short.is_some() {
        // Those of only some reads would not add up.
        measurement.flows = None;
    }
    measurement.losses = channel.losses();
    measurement.refused = measurement.losses.iter().map(|loss| u64::from(loss.times)).sum();
    let (tables, mut unreadable) = modules.into_parts();
    measurement.tables = tables;
    measurement.unreadable.append(&mut unreadable);
    measurement
}

/// Reads the descriptors of modules as soon as processes load them, until everything is served.
fn read_modules(channel: &Channel, options: &Options, modules: &ModuleTable, served: &AtomicBool) {
    while !served.load(Ordering::Acquire) {
        let ticket = channel.announcements().ticket();
        read_announced(channel, options, modules);
        channel.announcements().wait(ticket, NAP);
    }
}

/// Reads the descriptors of the modules that processes have loaded. They wait for that.
fn read_announced(channel: &Channel, options: &Options, modules: &ModuleTable) {
    channel.beat();
    for announced in channel.announcements().pending() {
        // Before the process goes on and writes records that name it.
        if let Some(trace) = &options.trace {
            trace.add_module(&announced.module);
        }
        match announced.file() {
            Some(file) => modules.register(&announced.module, &file),
            None => modules.vanished(&announced.module),
        }
    }
}

/// Has the reading of modules end when the workers have, however they do.
struct EndsReading<'a>(&'a AtomicBool);

impl Drop for EndsReading<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// What a worker adds up: of the whole run's analysis, and of those that are for short runs.
struct Mergers {
    whole: Merger,
    early: Vec<Merger>,
}

impl Mergers {
    fn for_analyses(early: &Analyses) -> Self {
        Self { whole: Merger::default(), early: early.mergers() }
    }

    fn absorb(&mut self, other: Self) {
        self.whole.absorb(other.whole);
        self.early.iter_mut().zip(other.early).for_each(|(all, other)| all.absorb(other));
    }
}

struct Worker<'a> {
    channel: &'a Channel,
    options: &'a Options,
    progress: &'a Progress,
    modules: &'a ModuleTable,
    pool: &'a Arc<Pool>,
    /// Nobody else reads what processes load.
    alone: &'a AtomicBool,
    early: &'a Analyses,
    number: usize,
    workers: usize,
}

/// A ring being served.
struct Served {
    reader: RingReader,
    analyzer: Option<Replayer>,
    early: EarlyRing,
    /// Cores that follow.
    cycles: Option<Box<Follower>>,
    recorder: Option<RingRecorder>,
    /// What was analysed before the system refused something.
    cut_short: Option<Box<CutShort>>,
    /// The ring's process, then those that it was forked from.
    processes: Vec<u32>,
    /// Something was written into it. A ring made beforehand, for signal handlers in a sandbox, may stay empty: it is
    /// no thread.
    used: bool,
    reported: u64,
    reported_bytes: u64,
}

impl Served {
    /// Whether more than a worker's thread work for it.
    fn is_spread(&self) -> bool {
        self.analyzer.as_ref().is_some_and(Replayer::is_spread)
    }
}

/// Chunks taken from one ring before the next gets its turn.
const TURN: usize = 8;
/// How often an idle worker looks for threads that have ended, so that thousands of short threads do not pile up.
const SWEEP: Duration = Duration::from_millis(100);
/// Rings per worker from which on it looks even when busy.
const MANY: usize = 64;
/// Longest sleep; a published chunk ends it earlier.
const NAP: Duration = Duration::from_millis(20);
/// Longest sleep where a program that has forbidden itself system calls cannot end it.
const DOZE: Duration = Duration::from_micros(200);

impl Worker<'_> {
    fn run(&self) -> Mergers {
        let mut mergers = Mergers::for_analyses(self.early);
        let mut served: Vec<Served> = Vec::new();
        let mut next_ring = self.number;
        let mut swept = Instant::now();
        loop {
            // Both before looking at the rings: what the look then finds empty is empty, or the bell rings again.
            let ended = self.progress.ended.load(Ordering::Acquire);
            let ticket = self.channel.ticket();
            if self.number == 0 && self.alone.load(Ordering::Relaxed) {
                read_announced(self.channel, self.options, self.modules);
            }
            while next_ring < self.channel.rings_claimed() as usize {
                match self.channel.ring(next_ring as u32) {
                    Ok(Some(reader)) => served.push(self.serve_ring(reader)),
                    // Claimed by a process that ended before it wrote anything.
                    Ok(None) if ended => {}
                    Ok(None) => break,
                    Err(error) => mergers.whole.measurement.unreadable.push(error.to_string()),
                }
                next_ring += self.workers;
            }
            let mut busy = false;
            for ring in &mut served {
                busy |= self.turn(ring);
            }
            if ended && !busy {
                for ring in served {
                    self.finish(ring, &mut mergers);
                }
                return mergers;
            }
            if (!busy || served.len() > MANY) && swept.elapsed() >= SWEEP {
                swept = Instant::now();
                for ended in served.extract_if(.., |r| !r.reader.is_producer_alive()) {
                    self.finish(ended, &mut mergers);
                }
            }
            if !busy {
                self.channel.wait(ticket, if self.channel.has_silent_producers() { DOZE } else { NAP });
            }
        }
    }

    fn serve_ring(&self, reader: RingReader) -> Served {
        self.modules.ring_begins(reader.index(), reader.parent());
        let processes = std::iter::once(reader.process()).chain(reader.ancestors()).collect();
        let analyzer = self.options.analyse.then(|| Replayer::new(self.options, self.pool));
        if analyzer.as_ref().is_some_and(Replayer::is_spread) {
            self.progress.spread_rings.fetch_add(1, Ordering::Relaxed);
        }
        Served {
            analyzer,
            early: self.early.ring(self.pool),
            cycles: Follower::from_options(self.options.cycles.as_deref()),
            recorder: self.options.trace.as_ref().map(|trace| trace.add_ring(&reader)),
            reader,
            cut_short: None,
            processes,
            used: false,
            reported: 0,
            reported_bytes: 0,
        }
    }

    /// Replays a few chunks; whether there were any.
    fn turn(&self, ring: &mut Served) -> bool {
        let mut source = Source { processes: &ring.processes, table: self.modules };
        let mut busy = false;
        let was_spread = ring.is_spread();
        for _ in 0..TURN {
            let Some(chunk) = ring.reader.next_chunk() else { break };
            let early = (&mut ring.early, self.early);
            let taken = take(&mut ring.analyzer, early, &mut ring.cycles, &mut ring.recorder, &chunk, &mut source);
            ring.cut_short = ring.cut_short.take().or(taken.err());
            busy = true;
        }
        if was_spread && !ring.is_spread() {
            self.progress.spread_rings.fetch_sub(1, Ordering::Relaxed);
        }
        if ring.cut_short.is_some() {
            // Nobody follows the program any more, as long as it may still run.
            self.channel.abandon();
        }
        if busy {
            ring.used = true;
            self.report(ring);
            self.consider_threads(ring);
        }
        busy
    }

    /// A long-running ring gets more threads while there are processors to spare.
    fn consider_threads(&self, ring: &mut Served) {
        if !ring.analyzer.as_ref().is_some_and(Replayer::wants_threads) {
            return;
        }
        let others = self.progress.spread_rings.fetch_add(1, Ordering::Relaxed);
        if !Replayer::spread(&mut ring.analyzer, self.options, self.pool, others) {
            self.progress.spread_rings.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn report(&self, ring: &mut Served) {
        let accesses = ring.analyzer.as_ref().map_or(ring.reported, Replayer::accesses);
        self.progress.accesses.fetch_add(accesses - ring.reported, Ordering::Relaxed);
        ring.reported = accesses;
        let bytes = ring.analyzer.as_ref().map_or(0, Replayer::engine_bytes) + ring.early.engine_bytes();
        let held = self.progress.engine_bytes.fetch_add(bytes.wrapping_sub(ring.reported_bytes), Ordering::Relaxed);
        self.progress
            .engine_peak
            .fetch_max(held.wrapping_add(bytes).wrapping_sub(ring.reported_bytes), Ordering::Relaxed);
        ring.reported_bytes = bytes;
        let behind = u64::from(ring.reader.backlog()) * CHUNK_BYTES as u64;
        self.progress.backlog.store(behind, Ordering::Relaxed);
    }

    /// Takes what is left in the ring of a thread that has ended.
    fn finish(&self, mut ring: Served, mergers: &mut Mergers) {
        while self.turn(&mut ring) {}
        let is_spread = ring.is_spread();
        let mut source = Source { processes: &ring.processes, table: self.modules };
        let rest = ring.reader.remainder();
        ring.used |= !rest.is_empty();
        let early = (&mut ring.early, self.early);
        let taken = take(&mut ring.analyzer, early, &mut ring.cycles, &mut ring.recorder, rest, &mut source);
        ring.cut_short = ring.cut_short.take().or(taken.err());
        if let Some(follower) = ring.cycles.take() {
            mergers.whole.measurement.add_cycles(follower.finish());
        }
        let mut counted = Vec::new();
        if self.options.filtered
            && let Some(analyzer) = &mut ring.analyzer
        {
            match self.channel.counters().read_ring(&ring.reader, &ring.processes) {
                Ok(counts) => counted = counts,
                Err(error) => mergers.whole.measurement.unreadable.push(error.to_string()),
            }
            ring.used |= !counted.is_empty();
            analyzer.count(&counted, &mut source);
        }
        ring.early.end(self.early, &counted, &mut source);
        let (number, forks) = (ring.reader.index(), ring.reader.forks());
        let resolved = Replayer::attempt(&mut ring.analyzer, Replayer::resolve);
        ring.cut_short = ring.cut_short.take().or(resolved.err());
        if let Some(recorder) = ring.recorder.take() {
            recorder.finish(Some(forks));
        }
        self.report(&mut ring);
        self.progress.engine_bytes.fetch_sub(ring.reported_bytes, Ordering::Relaxed);
        if let Err(error) = ring.reader.release() {
            // Only memory is lost, and only until the run ends.
            mergers.whole.measurement.notes.push(error.to_string());
        }
        if is_spread {
            self.progress.spread_rings.fetch_sub(1, Ordering::Relaxed);
        }
        mergers.whole.measurement.processes.insert(ring.processes[0]);
        let items_of = |table, segment| self.modules.items(table, segment);
        for (number, result) in ring.early.finish(self.early).filter(|_| ring.used) {
            mergers.early[number].add(result, items_of);
        }
        let result = match ring.cut_short {
            Some(cut_short) => {
                mergers.whole.measurement.cut_short.get_or_insert(cut_short.why);
                Some(cut_short.result)
            }
            None => ring.analyzer.map(Replayer::finish),
        };
        if let Some(result) = result.filter(|_| ring.used) {
            mergers.whole.add(result, items_of);
        }
        if self.options.forgets_sites() {
            self.modules.ring_ends(number, forks);
        }
    }
}

/// Writes a chunk down, follows its code and analyses it, as far as each is asked for.
fn take(
    analyzer: &mut Option<Replayer>,
    (early, analyses): (&mut EarlyRing, &Analyses),
    cycles: &mut Option<Box<Follower>>,
    recorder: &mut Option<RingRecorder>,
    words: &[u64],
    source: &mut Source<'_>,
) -> Result<(), Box<CutShort>> {
    if let Some(recorder) = recorder {
        recorder.chunk(words, |word| {
            let at = |placed: &Placed| {
                let number = placed.table.segment_at(word.wrapping_sub(placed.low))?;
                Some(usize::from(placed.table.segments[number as usize].words))
            };
            source.modules(word).iter().rev().find_map(at)
        });
    }
    if let Some(follower) = cycles {
        follower.replay(words, source);
    }
    let taken = Replayer::attempt(analyzer, |analyzer| analyzer.replay(words, source));
    match analyzer {
        Some(analyzer) => early.replay(analyses, analyzer.told_time(), words, source),
        None => early.give_up(analyses),
    }
    taken
}
