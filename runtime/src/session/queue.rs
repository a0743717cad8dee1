//! What the engine is to do, in order, on its way to it and to those who follow beside it.

use crate::{
    engine::{Access, Kind, Stream},
    observe::follower::Follower,
    oplog::OpLog,
    session::lives::LifeMark,
};

/// What the engine is to do, in order, with the cells that results belong to.
#[derive(Default)]
pub struct Queue {
    pub accesses: Vec<Access>,
    pub cells: Vec<u32>,
    pub runs: Vec<Run>,
    pub streams: Vec<Stream>,
    pub stream_cells: Vec<u32>,
    /// Stores to the bytes of an access right after it, which only lines need to know of.
    pub marks: Vec<Mark>,
    /// Lives of memory, in order, for who wants to know whose it is.
    pub lives: Vec<LifeMark>,
    /// How much work there is, in single accesses.
    pub size: usize,
}

/// A store to the bytes of an access of a queue right after it.
pub struct Mark {
    /// The number of the access.
    pub access: usize,
    /// The cell of the store.
    pub cell: u32,
}

/// An affine run between two accesses of a queue.
pub struct Run {
    /// Accesses of the queue before it.
    pub after: usize,
    pub streams: usize,
    pub iterations: u64,
}

impl Queue {
    /// Has everything done in order: rows of accesses by `singles`, affine runs by `run`.
    pub fn each<S>(
        &self,
        state: &mut S,
        singles: impl Fn(&mut S, &[Access], &[u32]),
        run: impl Fn(&mut S, &[Stream], &[u32], u64),
    ) {
        let (mut done, mut streams) = (0, 0);
        for next in &self.runs {
            if next.after > done {
                singles(state, &self.accesses[done..next.after], &self.cells[done..next.after]);
                done = next.after;
            }
            let these = streams..streams + next.streams;
            run(state, &self.streams[these.clone()], &self.stream_cells[these], next.iterations);
            streams += next.streams;
        }
        singles(state, &self.accesses[done..], &self.cells[done..]);
    }

    /// Writes everything down.
    pub fn log(&self, log: &mut OpLog) {
        self.each(log, OpLog::accesses, OpLog::run);
    }

    /// Whether there is more in it than single accesses.
    pub fn has_runs_or_marks(&self) -> bool {
        !(self.runs.is_empty() && self.marks.is_empty() && self.lives.is_empty())
    }

    /// Empties a queue of single accesses.
    pub fn clear_singles(&mut self) {
        self.accesses.clear();
        self.cells.clear();
        self.size = 0;
    }

    pub fn clear(&mut self) {
        self.accesses.clear();
        self.cells.clear();
        self.runs.clear();
        self.streams.clear();
        self.stream_cells.clear();
        self.marks.clear();
        self.lives.clear();
        self.size = 0;
    }

    /// Has everything followed, with the stores that the engine need not know of.
    pub fn follow<F: Follower>(&self, follower: &mut F) {
        let singles = |(follower, marks, done): &mut (&mut F, &[Mark], usize), accesses: &[Access], cells: &[u32]| {
            let (all, first, mut from) = (*marks, *done, 0);
            *done += accesses.len();
            let (these, later) = all.split_at(all.partition_point(|mark| mark.access < *done));
            *marks = later;
            for mark in these {
                let at = mark.access - first;
                follower.accesses(&accesses[from..=at], &cells[from..=at]);
                follower.accesses(&[Access { kind: Kind::Store, ..accesses[at] }], &[mark.cell]);
                from = at + 1;
            }
            follower.accesses(&accesses[from..], &cells[from..]);
        };
        let run =
            |(follower, ..): &mut (&mut F, &[Mark], usize), streams: &[Stream], cells: &[u32], iterations: u64| {
                follower.run(streams, cells, iterations);
            };
        self.each(&mut (follower, self.marks.as_slice(), 0), singles, run);
    }
}
