//! What is fed with damaged input, and how each input is used.
//!
//! A target takes any bytes and must come back. A panic, a signal, a hang or running out of memory is a defect.

use std::fs::File;
use std::io::{Cursor, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, OnceLock};

use dmdprof::fuzzing;
use dmdprof_runtime::analysis::Options;
use dmdprof_runtime::analysis::analyzer::Analyzer;
use dmdprof_runtime::analysis::shard_files::{self, Point, Summary, SummaryError};
use dmdprof_runtime::decode::locator::{ModuleSource, Placed};
use dmdprof_runtime::imported::Importer;
use dmdprof_runtime::motion::{MotionMachine, MotionOptions};
use dmdprof_runtime::sites::SiteTable;
use dmdprof_runtime::trace::{End, Start, TraceReader, TraceWriter};
use dmdprof_runtime::values::{Machine, ValueOptions};

use crate::packed;

pub struct Target {
    pub name: &'static str,
    pub run: fn(&[u8]),
    /// Words of a ring can say that terabytes were copied. Their analysis takes as long as it would for a program that
    /// did that, and is given up early; elsewhere that is a defect.
    pub may_be_slow: bool,
}

impl Target {
    const fn new(name: &'static str, run: fn(&[u8])) -> Self {
        Target { name, run, may_be_slow: false }
    }
}

pub const TARGETS: [Target; 20] = [
    Target::new("profile", fuzzing::profile),
    Target::new("profile-content", fuzzing::profile_content),
    Target::new("estimate", fuzzing::estimate),
    Target::new("estimate-content", fuzzing::estimate_content),
    Target::new("motion", fuzzing::motion),
    Target::new("motion-content", fuzzing::motion_content),
    Target::new("trace", trace),
    Target::new("import", import),
    Target::new("slice", slice),
    Target { name: "slice-content", run: slice_content, may_be_slow: true },
    Target::new("index", index),
    Target::new("index-content", index_content),
    Target::new("descriptors", descriptors),
    Target { name: "ring", run: ring, may_be_slow: true },
    Target::new("baseline", fuzzing::baseline),
    Target::new("config", fuzzing::config),
    Target::new("machine", fuzzing::machine),
    Target::new("times", fuzzing::times),
    Target::new("names", fuzzing::names),
    Target::new("bitcode", bitcode),
];

#[must_use]
pub fn named(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

/// A recorded run, read to its end.
fn trace(bytes: &[u8]) {
    let Ok(mut reader) = TraceReader::new(Cursor::new(bytes)) else { return };
    while let Ok(Some(_)) = reader.next_block() {}
}

/// Each line by itself: one that is refused does not hide those behind it.
fn import(bytes: &[u8]) {
    let nowhere = File::options().write(true).open("/dev/null").expect("it is there");
    let start = Start { tool_version: String::new(), command: Vec::new() };
    let writer = Arc::new(TraceWriter::new(nowhere, &start).expect("a thread"));
    let mut importer = Importer::new(Arc::clone(&writer), &[]);
    for line in bytes.split(|byte| *byte == b'\n') {
        let _ = importer.line(line);
    }
    let _ = importer.finish();
    let _ = writer.finish(&End::default());
}

fn slice(bytes: &[u8]) {
    let mut rest = bytes;
    if shard_files::read_name(&mut rest).is_ok() {
        drop(shard_files::read_summary(&mut rest));
    }
}

/// What neighbouring slices say, as if their checksums fitted; together they are one slice or an error.
fn slice_content(bytes: &[u8]) {
    drop(joined(bytes));
}

fn joined(bytes: &[u8]) -> Option<Result<Summary, SummaryError>> {
    let summary = |content: &[u8]| shard_files::read_summary(&mut packed::sealed(content).as_slice()).ok();
    let summaries: Option<Vec<Summary>> = packed::contents(bytes).map(summary).collect();
    summaries?.into_iter().map(Ok).reduce(|first, behind| first?.join(behind?))
}

/// An index, behind what it says of the trace that it is of.
fn index(bytes: &[u8]) {
    drop(point(bytes));
}

fn point(bytes: &[u8]) -> Option<Point> {
    let (identity, file) = bytes.split_first_chunk::<{ packed::IDENTITY }>()?;
    shard_files::find(&mut Cursor::new(file), packed::identity(*identity), u64::MAX, true).ok()?
}

/// What an index says, as if its checksums fitted.
fn index_content(bytes: &[u8]) {
    let Some((head, rest)) = bytes.split_at_checked(packed::IDENTITY + packed::HEAD) else { return };
    index(&packed::contents(rest).fold(head.to_vec(), |file, content| [file, packed::sealed(content)].concat()));
}

fn descriptors(bytes: &[u8]) {
    drop(SiteTable::parse(bytes, Path::new("fuzz")));
}

/// Where the descriptors of the ring's program lie.
pub const LOW: u64 = 0x5555_5560_0000;
/// A ring's input: bytes of descriptors as a little-endian number, the descriptors, the words. Words that name a
/// descriptor are relative to this, so that seeds from different programs fit.
pub const RING_HEADER: usize = 4;

struct OneModule(Arc<SiteTable>);

impl ModuleSource for OneModule {
    fn modules(&mut self, _address: u64) -> Vec<Placed> {
        vec![Placed { low: LOW, table: self.0.clone(), id: 0 }]
    }
}

/// The descriptors and words of a ring's input.
fn parts(bytes: &[u8]) -> Option<(OneModule, Vec<u64>)> {
    let (len, rest) = bytes.split_first_chunk::<RING_HEADER>()?;
    let (section, words) = rest.split_at((u32::from_le_bytes(*len) as usize).min(rest.len()));
    let table = SiteTable::parse(section, Path::new("fuzz")).ok()?;
    let words = words.chunks_exact(8).filter_map(|word| word.try_into().ok().map(u64::from_le_bytes)).collect();
    Some((OneModule(Arc::new(table)), words))
}

/// Words of a ring, which lies in memory that the program can write, analysed by each model.
fn ring(bytes: &[u8]) {
    let Some((mut source, words)) = parts(bytes) else { return };
    let options = Options { hints: true, flows: true, objects: true, analyse: true, ..Options::default() };
    let mut plain = Analyzer::new(Options { hints: true, analyse: true, ..Options::default() });
    plain.replay(&words, &mut source);
    drop(plain.finish());
    let mut flows = Analyzer::new(options);
    flows.replay(&words, &mut source);
    drop(flows.finish());
    if source.0.has_values() {
        let mut values = Machine::new(ValueOptions::default(), None);
        values.replay(&words, &mut source);
        drop(values.finish());
    }
    let mut motion = MotionMachine::new(&MotionOptions { memory: 1 << 20, elements: None });
    motion.replay(&words, &mut source);
    drop(motion.finish());
}

/// `dmdprof`, for what is only safe in a process of its own.
pub static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// A bitcode file: whatever LLVM does to it, the command ends with an exit code.
fn bitcode(bytes: &[u8]) {
    let directory = tempfile::tempdir().expect("a directory");
    let input = directory.path().join("unit.bc");
    std::fs::File::create(&input).and_then(|mut file| file.write_all(bytes)).expect("a file");
    let program = PROGRAM.get().expect("the program is known");
    let mut command = Command::new(program);
    command.arg("instrument").arg(&input).arg("-o").arg(directory.path().join("unit.o"));
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().expect("it starts");
    assert!(status.signal().is_none(), "dmdprof was killed by signal {:?}", status.signal());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus;

    fn seeds(target: &str) -> Vec<Vec<u8>> {
        corpus::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target)).expect("seeds")
    }

    #[test]
    fn no_seed_fails() {
        for target in TARGETS.iter().filter(|target| target.name != "bitcode") {
            for seed in seeds(target.name) {
                (target.run)(&seed);
            }
        }
    }

    /// `fuzz/found/`: inputs that once broke something.
    #[test]
    fn what_was_found_stays_mended() {
        for target in &TARGETS {
            let found = Path::new(env!("CARGO_MANIFEST_DIR")).join("found").join(target.name);
            if found.is_dir() {
                corpus::read(&found).expect("inputs").iter().for_each(|input| (target.run)(input));
            }
        }
    }

    #[test]
    fn seeds_get_deep_into_the_formats() {
        for seed in seeds("ring") {
            let (mut source, words) = parts(&seed).expect("descriptors of this version; make the seeds again");
            let (accesses, loops) = if source.0.has_values() {
                let mut machine = Machine::new(ValueOptions::default(), None);
                machine.replay(&words, &mut source);
                (machine.accesses(), 0)
            } else {
                let mut analyzer = Analyzer::new(Options { hints: true, analyse: true, ..Options::default() });
                analyzer.replay(&words, &mut source);
                (analyzer.accesses(), source.0.loops.len())
            };
            assert!(accesses > 10, "{accesses} accesses, {loops} loops");
        }
        for seed in seeds("slice-content") {
            assert!(matches!(joined(&seed), Some(Ok(_))), "slices of this version; make the seeds again");
        }
        for seed in seeds("index") {
            assert!(point(&seed).is_some(), "an index of this version; make the seeds again");
        }
        for seed in seeds("slice") {
            let mut rest = seed.as_slice();
            assert!(shard_files::read_name(&mut rest).is_ok(), "a slice of this version; make the seeds again");
        }
        for seed in seeds("trace") {
            let mut reader = TraceReader::new(Cursor::new(seed)).expect("a trace of this version");
            let mut blocks = 0;
            while reader.next_block().expect("a good trace").is_some() {
                blocks += 1;
            }
            assert!(blocks > 3, "{blocks}");
        }
    }
}
