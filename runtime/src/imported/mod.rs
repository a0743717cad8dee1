//! Accesses that other tools have written down as text, as a trace.
//!
//! Takes lines ([`line`]) and the files of the programs that made them, gives a trace in which each instruction is a
//! site, as those of an emulated program are ([`crate::abi::emulated`]). The text tells of no calls: each function is
//! on its own. Refuses what is not a line of such a text, and more sites and threads than there is room for.

mod line;
#[cfg(test)]
mod line_tests;
mod sites;

use std::{collections::HashMap, sync::Arc};

pub use line::{ADDRESSES, Access, LineError, MOST_BYTES, What};
use line::{Line, parse};
pub use sites::Program;
use sites::Sites;

use crate::{
    abi::ring_kind,
    trace::{Ring, RingRecorder, TraceWriter},
};

/// Words of a thread that are handed over at once.
const ENOUGH: usize = 4096;
/// Most threads.
const MOST_THREADS: usize = 65_536;
/// The process whose threads they are.
const PROCESS: u32 = 1;

/// What was taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Reads and writes; what does both is one.
    pub accesses: u64,
    /// Threads that made them.
    pub threads: usize,
}

/// Writes a trace of lines.
pub struct Importer {
    writer: Arc<TraceWriter>,
    sites: Sites,
    /// By the number that the text has for them, in the order in which they come.
    threads: Vec<Thread>,
    numbers: HashMap<u64, usize>,
    /// The last instruction of a text that has these on lines of their own.
    instruction: u64,
    accesses: u64,
}

struct Thread {
    words: Vec<u64>,
    recorder: RingRecorder,
    /// The number of the function that it is in.
    function: Option<u32>,
}

impl Importer {
    /// Writes to a trace that has begun.
    #[must_use]
    pub fn new(writer: Arc<TraceWriter>, programs: &[Program]) -> Self {
        let sites = Sites::new(programs);
        Self { writer, sites, threads: Vec::new(), numbers: HashMap::new(), instruction: 0, accesses: 0 }
    }

    /// Takes a line, with or without its end.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn line(&mut self, text: &[u8]) -> Result<(), LineError> {
        match parse(text)? {
            Line::Nothing => {}
            Line::Instruction(address) => self.instruction = address,
            Line::Access(access) => self.access(access)?,
        }
        Ok(())
    }

    fn access(&mut self, access: Access) -> Result<(), LineError> {
        let Access { address, bytes, what, instruction, thread } = access;
        let number = match self.numbers.get(&thread) {
            Some(number) => *number,
            None => self.begin(thread)?,
        };
        let site = self.sites.site(instruction.unwrap_or(self.instruction), what, bytes)?;
        let thread = &mut self.threads[number];
        if let Some(last) = thread.function.replace(site.function).filter(|last| *last != site.function) {
            thread.words.extend([self.sites.end(last)?, 0]);
        }
        thread.words.extend([site.address, address]);
        self.accesses += 1;
        if thread.words.len() >= ENOUGH {
            self.hand_over(number);
        }
        Ok(())
    }

    fn begin(&mut self, thread: u64) -> Result<usize, LineError> {
        let number = self.threads.len();
        if number == MOST_THREADS {
            return Err(LineError::Threads);
        }
        let tid = number as u32 + 1;
        let ring = Ring { process: PROCESS, tid, kind: ring_kind::THREAD, parent: None, ancestors: Vec::new() };
        let recorder = self.writer.ring(number as u32, &ring);
        self.threads.push(Thread { words: Vec::with_capacity(ENOUGH + 4), recorder, function: None });
        self.numbers.insert(thread, number);
        Ok(number)
    }

    /// Writes down the words of a thread, behind the sites that they name.
    fn hand_over(&mut self, number: usize) {
        self.sites.take_batches().iter().for_each(|batch| self.writer.add_batch(batch));
        let thread = &mut self.threads[number];
        thread.recorder.chunk(&thread.words, |_| Some(sites::WORDS));
        thread.words.clear();
    }

    /// Writes down what is left; the trace itself is still to be ended.
    #[must_use]
    pub fn finish(mut self) -> Imported {
        (0..self.threads.len()).for_each(|number| self.hand_over(number));
        let threads = self.threads.len();
        self.threads.into_iter().for_each(|thread| thread.recorder.finish(None));
        Imported { accesses: self.accesses, threads }
    }
}
