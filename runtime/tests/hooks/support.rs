//! Compiles the C programs, runs them on a channel, and collects what they wrote.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use dmdprof_runtime::abi::{EventKind, channel_mode, ring_kind, synchronise::Synchronise};
use dmdprof_runtime::hooks_object::{HOOKS_OBJECT, HOOKS_SHARED};
use dmdprof_runtime::ring::{Channel, Module, RingReader};

/// First word of the C programs' records.
pub const SITE: u64 = 0x7ff8;

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hooks")
}

/// A directory of this run with the object and the shared object in it.
pub fn directory() -> &'static Path {
    static DIRECTORY: OnceLock<PathBuf> = OnceLock::new();
    DIRECTORY.get_or_init(|| {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("hooks-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join("hooks.o"), HOOKS_OBJECT).unwrap();
        std::fs::write(path.join("libdmdprof_hooks.so"), HOOKS_SHARED).unwrap();
        path
    })
}

pub fn compile(output: &str, source: &str, arguments: &[&str]) -> PathBuf {
    let output = directory().join(output);
    let mut command = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
    command.args(["-O2", "-Wall", "-Wno-unused-function", "-pthread", "-I"]).arg(sources());
    command.arg("-o").arg(&output).arg(sources().join(source));
    let status = command.args(arguments).current_dir(directory()).status().unwrap();
    assert!(status.success(), "{command:?}");
    output
}

pub const EXPORT: &str = "-Wl,--export-dynamic-symbol=__dmdprof_v5_*";

pub fn writer() -> &'static Path {
    static WRITER: OnceLock<PathBuf> = OnceLock::new();
    WRITER.get_or_init(|| compile("writer", "writer.c", &["hooks.o", EXPORT]))
}

pub fn static_writer() -> &'static Path {
    static WRITER: OnceLock<PathBuf> = OnceLock::new();
    WRITER.get_or_init(|| compile("writer-static", "writer.c", &["hooks.o", "-static"]))
}

#[derive(Debug)]
pub struct Ring {
    pub pid: u32,
    pub tid: u32,
    pub kind: u32,
    pub parent: Option<u32>,
    /// Of the process in the run, and of its ancestors with modules.
    pub process: u32,
    pub ancestors: Vec<u32>,
    pub words: Vec<u64>,
}

impl Ring {
    /// Takes the event away that a thread's ring starts with.
    fn drop_start(&mut self) {
        if self.kind == ring_kind::SIGNAL || self.words.is_empty() {
            return;
        }
        let start: Vec<u64> = self.words.drain(..5).collect();
        assert_eq!(start[..2], [(EventKind::Synchronise as u64) << 56 | 5 << 48, Synchronise::Start as u64]);
    }
}

#[derive(Debug)]
pub struct Outcome {
    pub status: ExitStatus,
    pub output: String,
    pub pid: u32,
    pub rings: Vec<Ring>,
    pub modules: Vec<Module>,
    pub refused: u32,
    /// Most chunks that were ever waiting in one ring.
    pub backlog: u32,
    /// Memory that the channel holds at the end.
    pub resident: u64,
}

pub fn command(program: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    command
}

pub fn run(program: &Path, arguments: &[&str]) -> Outcome {
    Run::start(command(program, arguments)).finish()
}

pub struct Run {
    pub channel: Channel,
    pub child: Child,
    /// Before each chunk.
    pub delay: Duration,
}

impl Run {
    pub fn start(mut command: Command) -> Self {
        let channel = Channel::create(channel_mode::ANALYSE).unwrap();
        let (name, value) = channel.env();
        let child = command.env(name, value).stdout(Stdio::piped()).spawn().unwrap();
        Self { channel, child, delay: Duration::ZERO }
    }

    /// Drains until the program and all that it has started are gone.
    pub fn finish(mut self) -> Outcome {
        let started = Instant::now();
        let mut rings: Vec<Ring> = Vec::new();
        let mut readers: Vec<Option<RingReader>> = Vec::new();
        let mut modules = Vec::new();
        let mut backlog = 0;
        let mut status = None;
        let mut stdout = self.child.stdout.take().unwrap();
        let output = std::thread::spawn(move || {
            let mut output = String::new();
            std::io::Read::read_to_string(&mut stdout, &mut output).unwrap();
            output
        });
        loop {
            assert!(started.elapsed() < Duration::from_secs(240), "hangs");
            let ticket = self.channel.ticket();
            modules
                .extend(self.channel.announcements().pending().into_iter().map(|announced| announced.module.clone()));
            // In this order: what was gone here has published everything that the following look sees.
            status = status.or_else(|| self.child.try_wait().unwrap());
            let gone: Vec<bool> = readers
                .iter()
                .map(|reader| {
                    reader.as_ref().is_some_and(|r| (status.is_some() || r.backlog() == 0) && !r.is_producer_alive())
                })
                .collect();
            while (readers.len() as u32) < self.channel.rings_claimed() {
                let Some(reader) = self.channel.ring(readers.len() as u32).unwrap() else { break };
                rings.push(Ring {
                    pid: reader.pid(),
                    tid: reader.tid(),
                    kind: reader.kind(),
                    parent: reader.parent(),
                    process: reader.process(),
                    ancestors: reader.ancestors().collect(),
                    words: Vec::new(),
                });
                readers.push(Some(reader));
            }
            let mut found = false;
            for (slot, ring) in readers.iter_mut().zip(&mut rings) {
                let Some(reader) = slot else { continue };
                loop {
                    backlog = backlog.max(reader.backlog());
                    let Some(chunk) = reader.next_chunk() else { break };
                    if !self.delay.is_zero() {
                        std::thread::sleep(self.delay);
                    }
                    ring.words.extend_from_slice(&chunk);
                    found = true;
                }
            }
            for (index, gone) in gone.iter().enumerate() {
                if *gone && let Some(mut reader) = readers[index].take() {
                    rings[index].words.extend_from_slice(reader.remainder());
                    reader.release().unwrap();
                }
            }
            let all = readers.len() as u32 == self.channel.rings_claimed();
            if let Some(status) = status
                && all
                && readers.iter().all(Option::is_none)
            {
                rings.iter_mut().for_each(Ring::drop_start);
                return Outcome {
                    status,
                    output: output.join().unwrap(),
                    pid: self.child.id(),
                    rings,
                    modules,
                    refused: self.channel.losses().iter().map(|loss| loss.times).sum(),
                    backlog,
                    resident: self.channel.resident_bytes().unwrap(),
                };
            }
            if !found {
                self.channel.wait(ticket, Duration::from_millis(5));
            }
        }
    }
}

/// An event of one word and no place.
const RESTART: u64 = (EventKind::Restart as u64) << 56 | 1 << 48;

impl Outcome {
    /// Numbers per stream and ring, in order.
    pub fn streams(&self) -> BTreeMap<u64, Vec<(usize, Vec<u64>)>> {
        let mut streams: BTreeMap<u64, Vec<(usize, Vec<u64>)>> = BTreeMap::new();
        for (index, ring) in self.rings.iter().enumerate() {
            let mut words = &ring.words[..];
            while let Some(first) = words.first() {
                // A handler whose last run was left by a jump starts.
                if *first == RESTART && ring.kind == ring_kind::SIGNAL {
                    words = &words[1..];
                    continue;
                }
                let (record, rest) = words.split_at_checked(3).unwrap_or_else(|| panic!("ring {index} is torn"));
                words = rest;
                assert_eq!(record[0], SITE, "ring {index} holds something else");
                let parts = streams.entry(record[1]).or_default();
                match parts.last_mut() {
                    Some((last, numbers)) if *last == index => numbers.push(record[2]),
                    _ => parts.push((index, vec![record[2]])),
                }
            }
        }
        streams
    }

    /// Stream `name` is `0..count` in one ring; gives the ring.
    #[track_caller]
    pub fn expect_stream(&self, name: u64, count: u64) -> &Ring {
        let streams = self.streams();
        let parts = streams.get(&name).unwrap_or_else(|| panic!("no stream {name}"));
        assert_eq!(parts.len(), 1, "stream {name} is in several rings");
        assert_numbers(&parts[0].1, count);
        &self.rings[parts[0].0]
    }

    #[track_caller]
    pub fn expect_success(&self) -> &Self {
        assert!(self.status.success(), "{:?}", self.status);
        assert_eq!(self.refused, 0);
        self
    }
}

#[track_caller]
pub fn assert_numbers(numbers: &[u64], count: u64) {
    assert_eq!(numbers.len() as u64, count);
    if let Some(place) = numbers.iter().enumerate().position(|(i, &n)| n != i as u64) {
        panic!("number {} at place {place}", numbers[place]);
    }
}
