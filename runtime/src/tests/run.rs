//! Runs of a made-up program, and the ways to analyse them.
//!
//! Takes a program and the steps of its threads; records them as a trace, whose words come in chunks. Gives what an
//! analysis measures of it: in one go, in slices by options, by several workers, in parts on their own.

use std::{
    fs::File,
    io::{Cursor, Read, Seek, SeekFrom},
    ops::Range,
    sync::Arc,
};

use tempfile::{NamedTempFile, TempDir};

use super::{
    history::{Happening, history},
    program::Program,
    steps::Step,
};
use crate::{
    analysis::{
        Measurement, Options,
        merge::Merger,
        modules::{ModuleTable, Source},
        replay,
        replayer::Replayer,
        shard_files::{Joined, Summary, slice},
        shards::Pool,
        shared::Together,
    },
    decode::{
        locator::{ModuleSource, Placed},
        roi::RegionOfInterest,
    },
    imported::{Imported, Importer},
    oplog::{Shelf, Spool},
    ring::Module,
    trace::{Block, End, Ring, Start, TraceReader, TraceWriter},
};

/// Which functions and regions are meant, by their names.
pub struct Named(pub &'static [&'static str]);

impl RegionOfInterest for Named {
    fn matches_symbol(&self, symbol: &str) -> bool {
        self.0.contains(&symbol)
    }

    fn matches_region(&self, name: &str) -> bool {
        self.0.contains(&name)
    }
}

/// All modules of a program, at once.
pub struct Modules(Vec<Placed>);

impl Modules {
    /// Those of the program's images.
    pub fn new(program: &Program) -> Self {
        Self(program.modules().into_iter().map(|module| module.placed).collect())
    }
}

impl ModuleSource for Modules {
    fn modules(&mut self, _: u64) -> Vec<Placed> {
        self.0.clone()
    }
}

/// Room for what is kept in files.
pub fn spool() -> Arc<Spool> {
    Arc::new(Spool::create(&std::env::temp_dir()).expect("a temporary file"))
}

/// All threads share a stack, in turns of 64 accesses.
pub fn together() -> Together {
    let shelf = Arc::new(Shelf::new(spool()));
    Together { clusters: Vec::new(), turn: 64, apart: false, sharing: None, alone: false, shelf }
}

/// What importing these lines gives, and the trace.
pub fn imported(lines: &str) -> (Imported, TraceReader<File>) {
    let mut file = tempfile::tempfile().expect("a temporary file");
    let start = Start { tool_version: String::new(), command: Vec::new() };
    let writer = Arc::new(TraceWriter::new(file.try_clone().expect("a handle"), &start).expect("a thread"));
    let mut importer = Importer::new(Arc::clone(&writer), &[]);
    lines.lines().for_each(|line| importer.line(line.as_bytes()).expect("a line"));
    let imported = importer.finish();
    writer.finish(&End::default()).expect("room for the trace");
    file.rewind().expect("a file can be read again");
    (imported, TraceReader::new(file).expect("a trace"))
}

/// The process that all threads are of.
const PROCESS: u32 = 1;

/// A run that was recorded.
pub struct Run {
    program: Program,
    threads: Vec<Vec<Step>>,
    trace: Vec<u8>,
    /// Where the trace's blocks begin, and its end.
    blocks: Vec<u64>,
    /// The images.
    _files: (TempDir, Vec<NamedTempFile>),
}

impl Run {
    /// Records the steps of threads, so many at a time of each.
    #[must_use]
    pub fn new(program: Program, threads: &[Vec<Step>], steps: usize) -> Self {
        let started = |(number, steps): (u64, &Vec<Step>)| [vec![Step::start(number)], steps.clone()].concat();
        let threads: Vec<Vec<Step>> = (1..).zip(threads).map(started).collect();
        let directory = tempfile::tempdir().expect("a temporary directory");
        let files: Vec<_> = program.images.iter().map(|image| image.file(directory.path())).collect();
        let trace = recorded(&program, &threads, steps, &files);
        let blocks = blocks(&trace);
        Self { program, threads, trace, blocks, _files: (directory, files) }
    }

    /// What each thread does.
    #[must_use]
    pub fn histories(&self, options: &Options) -> Vec<Vec<Happening>> {
        self.threads.iter().map(|steps| history(&self.program, steps, options.roi.as_deref())).collect()
    }

    /// The trace.
    #[must_use]
    pub fn trace(&self) -> &[u8] {
        &self.trace
    }

    /// Where the trace's blocks begin, and its end.
    #[must_use]
    pub fn blocks(&self) -> &[u64] {
        &self.blocks
    }

    /// Reads the trace from its start.
    #[must_use]
    pub fn reader(&self) -> TraceReader<Cursor<&[u8]>> {
        TraceReader::new(Cursor::new(&self.trace[..])).expect("a trace")
    }

    /// What a replay measures.
    #[must_use]
    pub fn replayed(&self, options: &Options) -> Measurement {
        checked(replay(&mut self.reader(), options).expect("a whole trace").measurement)
    }

    /// The same by workers that have a ring each, and add up what they have in the end; from a ring's second chunk on
    /// the engine has a thread of its own, if that is wanted.
    #[must_use]
    pub fn by_workers(&self, options: &Options, with_thread: bool) -> Measurement {
        let pool = Arc::new(Pool::new(options.workers));
        let (mut reader, table) = (self.reader(), ModuleTable::default());
        let mut workers: Vec<Replayer> = Vec::new();
        while let Some(block) = reader.next_block().expect("a whole trace") {
            match block {
                Block::Module(module) => table.register(&module.module(), &module.module().path),
                Block::Sites(batch) => table.add_batch(&batch),
                Block::Generated(code) => table.name_generated(&code),
                Block::Ring(..) => workers.push(Replayer::new(options, &pool)),
                Block::Words(ring, words) => {
                    let mut source = Source { processes: &[PROCESS], table: &table };
                    workers[ring as usize].replay(&words, &mut source);
                    if let Replayer::Memory(analyzer) = &mut workers[ring as usize]
                        && with_thread
                    {
                        analyzer.start_thread(true);
                    }
                }
                Block::RingEnd(ring, _) => workers[ring as usize].resolve(),
                Block::End(_) => {}
            }
        }
        let mut all = Merger::default();
        for worker in workers {
            let mut one = Merger::default();
            one.add(worker.finish(), |table_number, segment| table.items(table_number, segment));
            all.absorb(one);
        }
        checked(all.measurement)
    }

    /// The same of about so many parts of the trace, each on its own, then joined; some of them in pairs before.
    #[must_use]
    pub fn in_parts(&self, options: &Options, parts: usize) -> Measurement {
        let each = self.blocks.len().div_ceil(parts.max(1));
        let starts: Vec<u64> = std::iter::once(0).chain(self.blocks.iter().copied().skip(each).step_by(each)).collect();
        let ends = starts.iter().copied().skip(1).chain([u64::MAX]);
        let mut summaries = starts.iter().copied().zip(ends).map(|(start, end)| self.part(options, start..end));
        let mut joined = Joined::new(options);
        while let Some(first) = summaries.next() {
            let part = match summaries.next() {
                Some(second) => first.join(second).expect("neighbours"),
                None => first,
            };
            joined.add(part).expect("the next part");
            if let Some(single) = summaries.next() {
                joined.add(single).expect("the next part");
            }
        }
        checked(joined.finish().measurement)
    }

    /// What is known of a part of the trace.
    #[must_use]
    pub fn part(&self, options: &Options, range: Range<u64>) -> Summary {
        slice(&mut self.reader(), options, &range, None).expect("a part of a whole trace")
    }
}

/// A measurement in which nothing went wrong.
fn checked(measurement: Measurement) -> Measurement {
    assert_eq!(measurement.unreadable, [""; 0]);
    assert_eq!(measurement.cut_short, None);
    let failures = &measurement.failures;
    assert!(failures.exact.is_none() && failures.optimum.is_none(), "{failures:?}");
    measurement
}

fn recorded(program: &Program, threads: &[Vec<Step>], steps: usize, files: &[NamedTempFile]) -> Vec<u8> {
    let mut file: File = tempfile::tempfile().expect("a temporary file");
    let start = Start { tool_version: String::new(), command: Vec::new() };
    let writer = Arc::new(TraceWriter::new(file.try_clone().expect("a second handle"), &start).expect("a thread"));
    let ring = |tid| Ring { process: PROCESS, tid, kind: 1, parent: None, ancestors: Vec::new() };
    let mut rings: Vec<_> = (0..).zip(threads).map(|(number, _)| writer.ring(number, &ring(number))).collect();
    let mut loaded = 0;
    let mut rests: Vec<_> = threads.iter().map(|thread| thread.chunks(steps.max(1))).collect();
    while rests.iter().any(|rest| rest.len() > 0) {
        for (ring, rest) in rings.iter_mut().zip(&mut rests) {
            let Some(chunk) = rest.next() else { continue };
            // Those before it are there first, so that images have the numbers of their tables.
            let named = chunk.iter().filter_map(Step::image).max();
            for image in (loaded..named.map_or(0, |image| image + 1)).inspect(|image| loaded = image + 1) {
                let bias = Program::bias(image);
                let path = files[image as usize].path().to_path_buf();
                writer.add_module(&Module { process: PROCESS, bias, low: bias, high: bias + (1 << 20), path });
            }
            let (mut words, mut lengths) = (Vec::new(), Vec::new());
            for step in chunk {
                let first = words.len();
                step.write(program, &mut words);
                lengths.push((words[first], words.len() - first));
            }
            let len_of = |head| lengths.iter().find(|(known, _)| *known == head).map(|(_, len)| *len);
            ring.chunk(&words, len_of);
            ring.send();
        }
    }
    rings.into_iter().for_each(|ring| ring.finish(None));
    writer.finish(&End::default()).expect("room for the trace");
    let mut trace = Vec::new();
    file.seek(SeekFrom::Start(0)).expect("a file can be read again");
    file.read_to_end(&mut trace).expect("the trace");
    trace
}

/// Where the blocks of a trace begin.
fn blocks(trace: &[u8]) -> Vec<u64> {
    let mut reader = TraceReader::new(trace).expect("a trace");
    let mut blocks = Vec::new();
    loop {
        let place = reader.block_offset();
        if blocks.last() != Some(&place) {
            blocks.push(place);
        }
        if reader.next_block().expect("a whole trace").is_none() {
            return blocks;
        }
    }
}
