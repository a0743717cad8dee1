//! A recorded run, analysed: the same as `serve`, from a trace instead of a channel.
//!
//! Takes a trace and [`Options`], gives what a direct analysis of the run would have given. A trace that was cut off is
//! analysed up to there. Refuses damaged traces, and traces whose programs are not there any more or have been built
//! again, because their records name descriptors by address.

use std::{
    collections::HashMap,
    io::Read,
    sync::{Arc, Mutex, PoisonError},
};

use crossbeam::channel::bounded;

use super::{
    interleave,
    merge::{Measurement, Merger},
    modules::{ModuleTable, Source},
    options::Options,
    replayer::{CutShort, Replayer},
    shards::Pool,
};
use crate::{
    cycles::Follower,
    sites,
    trace::{Block, End, TraceError, TraceModule, TraceReader},
};

/// Blocks that are decoded ahead.
const AHEAD: usize = 16;

/// What a trace gave.
pub struct Replayed {
    /// What was measured.
    pub measurement: Measurement,
    /// How the program ended; `None` if the trace was cut off.
    pub end: Option<End>,
    /// Where it was cut off.
    pub cut_at: Option<u64>,
    /// Most memory that the engines held.
    pub engine_peak: u64,
}

impl Replayed {
    /// What all rings of a trace gave.
    pub(super) fn new(
        merger: Merger,
        table: ModuleTable,
        end: Option<End>,
        cut_at: Option<u64>,
        engine_peak: u64,
    ) -> Self {
        let mut measurement = merger.measurement;
        if measurement.cut_short.is_some() {
            // Those of only some reads would not add up.
            measurement.flows = None;
        }
        if let Some(end) = &end {
            measurement.refused = end.refused;
            measurement.unreadable.extend(end.unreadable.iter().cloned());
        }
        let (tables, mut unreadable) = table.into_parts();
        measurement.tables = tables;
        measurement.unreadable.append(&mut unreadable);
        Self { measurement, end, cut_at, engine_peak }
    }
}

/// Why a trace cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A program or library is not the one that was recorded.
    #[error(
        "the trace is of another build of {path}: the descriptors in that file are not those that were recorded; put the recorded build back, or record again"
    )]
    AnotherBuild {
        /// Its file.
        path: String,
    },
    /// A program or library cannot be read.
    #[error(
        "{path}, which was recorded, cannot be read now ({reason}); replaying needs the recorded programs and libraries in their places"
    )]
    Missing {
        /// Its file.
        path: String,
        /// What the system says.
        reason: String,
    },
}

struct Ring {
    /// Until the system refuses something.
    analyzer: Option<Replayer>,
    /// Cores that follow.
    cycles: Option<Box<Follower>>,
    processes: Vec<u32>,
    /// A ring without words is no thread's, see `serve`.
    used: bool,
    /// Memory of its engine, as last counted.
    bytes: u64,
}

/// Analyses a trace.
///
/// # Errors
/// [`ReplayError`].
pub fn replay<R: Read + Send>(reader: &mut TraceReader<R>, options: &Options) -> Result<Replayed, ReplayError> {
    let (send, receive) = bounded(AHEAD);
    let reader = Mutex::new(reader);
    // A mutex that only one thread takes; should the system give none, this thread reads itself.
    let next = || reader.lock().unwrap_or_else(PoisonError::into_inner).next_block();
    let next = &next;
    std::thread::scope(|scope| {
        // Dropped here, so that whoever still wants to send sees that nobody receives.
        let receive = receive;
        let ahead = std::thread::Builder::new().spawn_scoped(scope, move || {
            loop {
                let block = next();
                let is_last = !matches!(block, Ok(Some(_)));
                // The other side has given up.
                if send.send(block).is_err() || is_last {
                    return;
                }
            }
        });
        let mut replay = Replay::new(options);
        while replay.merger.measurement.cut_short.is_none() {
            let block = if ahead.is_ok() { receive.recv().unwrap_or(Ok(None)) } else { next() };
            match block {
                Ok(Some(block)) => replay.block(block)?,
                Ok(None) => break,
                Err(TraceError::Cut { at }) => {
                    replay.cut_at = Some(at);
                    break;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(replay.finish())
    })
}

struct Replay<'a> {
    options: &'a Options,
    table: ModuleTable,
    rings: HashMap<u32, Ring>,
    merger: Merger,
    end: Option<End>,
    cut_at: Option<u64>,
    pool: Arc<Pool>,
    /// Rings for which several threads work.
    spread: usize,
    engine_bytes: u64,
    engine_peak: u64,
}

impl<'a> Replay<'a> {
    fn new(options: &'a Options) -> Self {
        Self {
            options,
            table: ModuleTable::default(),
            rings: HashMap::new(),
            merger: Merger::default(),
            end: None,
            cut_at: None,
            pool: Arc::new(Pool::new(options.workers)),
            spread: 0,
            engine_bytes: 0,
            engine_peak: 0,
        }
    }

    fn block(&mut self, block: Block) -> Result<(), ReplayError> {
        match block {
            Block::Module(module) => register(&self.table, &module)?,
            Block::Sites(batch) => self.table.add_batch(&batch),
            Block::Generated(code) => self.table.name_generated(&code),
            Block::Ring(number, ring) => {
                let analyzer = Some(Replayer::new(self.options, &self.pool));
                self.table.ring_begins(number, ring.parent);
                self.spread += usize::from(analyzer.as_ref().is_some_and(Replayer::is_spread));
                let cycles = Follower::from_options(self.options.cycles.as_deref());
                let ring = Ring { analyzer, cycles, processes: ring.processes(), used: false, bytes: 0 };
                self.rings.insert(number, ring);
            }
            Block::Words(number, words) => self.words(number, &words),
            Block::RingEnd(number, forks) => {
                self.ring_end(number);
                if let Some(forks) = forks.filter(|_| self.options.forgets_sites()) {
                    self.table.ring_ends(number, forks);
                }
            }
            Block::End(end) => self.end = Some(end),
        }
        Ok(())
    }

    fn words(&mut self, number: u32, words: &[u64]) {
        let Some(ring) = self.rings.get_mut(&number) else { return };
        ring.used |= !words.is_empty();
        let mut source = Source { processes: &ring.processes, table: &self.table };
        if let Some(follower) = &mut ring.cycles {
            follower.replay(words, &mut source);
        }
        if let Err(cut_short) = Replayer::attempt(&mut ring.analyzer, |analyzer| analyzer.replay(words, &mut source)) {
            self.cut_short(*cut_short);
            return;
        }
        if ring.analyzer.as_ref().is_some_and(Replayer::wants_threads)
            && Replayer::spread(&mut ring.analyzer, self.options, &self.pool, self.spread)
        {
            self.spread += 1;
        }
        let Some(analyzer) = &mut ring.analyzer else { return };
        let bytes = analyzer.engine_bytes();
        self.engine_bytes = self.engine_bytes.wrapping_add(bytes).wrapping_sub(ring.bytes);
        ring.bytes = bytes;
        self.engine_peak = self.engine_peak.max(self.engine_bytes);
    }

    /// Keeps what there was when the system refused something.
    fn cut_short(&mut self, cut_short: CutShort) {
        self.merger.measurement.cut_short.get_or_insert(cut_short.why);
        self.merger.add(cut_short.result, |table, segment| self.table.items(table, segment));
    }

    fn ring_end(&mut self, number: u32) {
        let Some(mut ring) = self.rings.remove(&number) else { return };
        self.spread -= usize::from(ring.analyzer.as_ref().is_some_and(Replayer::is_spread));
        if let Err(cut_short) = Replayer::attempt(&mut ring.analyzer, Replayer::resolve) {
            self.cut_short(*cut_short);
        }
        self.engine_bytes -= ring.bytes;
        self.merger.measurement.processes.insert(ring.processes[0]);
        if let Some(follower) = ring.cycles {
            self.merger.measurement.add_cycles(follower.finish());
        }
        if let Some(analyzer) = ring.analyzer.filter(|_| ring.used) {
            self.merger.add(analyzer.finish(), |table, segment| self.table.items(table, segment));
        }
    }

    fn finish(mut self) -> Replayed {
        // Of a trace that was cut off, most are still open.
        let mut open: Vec<u32> = self.rings.keys().copied().collect();
        open.sort_unstable();
        open.into_iter().for_each(|number| self.ring_end(number));
        interleave::analyse(&mut self.merger, self.options, &self.table);
        self.merger.measurement.sample = self.options.sample;
        Replayed::new(self.merger, self.table, self.end, self.cut_at, self.engine_peak)
    }
}

/// Takes note of a module of a trace, whose file must be what was recorded.
pub(super) fn register(table: &ModuleTable, module: &TraceModule) -> Result<(), ReplayError> {
    check(module)?;
    let module = module.module();
    table.register(&module, &module.path);
    Ok(())
}

/// Whether a file is still what was recorded.
fn check(module: &TraceModule) -> Result<(), ReplayError> {
    let path = module.module().path;
    let name = || path.display().to_string();
    match (module.identity, sites::identity(&path)) {
        (Some(recorded), Ok(now)) if recorded != now => Err(ReplayError::AnotherBuild { path: name() }),
        (Some(_), Err(error)) => Err(ReplayError::Missing { path: name(), reason: error.to_string() }),
        _ => Ok(()),
    }
}
