//! What the engine is to do, in order, on its way to it and to those who follow beside it.

use crate::{
    engine::{Access, Kind, Label, Stream},
    observe::follower::Follower,
    oplog::OpLog,
    session::lives::LifeMark,
};

/// What the engine is to do, in order, with the labels of what results belong to.
#[derive(Default)]
pub struct Queue {
    pub accesses: Vec<Access>,
    pub labels: Vec<Label>,
    pub runs: Vec<Run>,
    pub streams: Vec<Stream>,
    pub stream_labels: Vec<Label>,
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
    /// The label of the store.
    pub label: Label,
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
        singles: impl Fn(&mut S, &[Access], &[Label]),
        run: impl Fn(&mut S, &[Stream], &[Label], u64),
    ) {
        let (mut done, mut streams) = (0, 0);
        for next in &self.runs {
            if next.after > done {
                singles(state, &self.accesses[done..next.after], &self.labels[done..next.after]);
                done = next.after;
            }
            let these = streams..streams + next.streams;
            run(state, &self.streams[these.clone()], &self.stream_labels[these], next.iterations);
            streams += next.streams;
        }
        singles(state, &self.accesses[done..], &self.labels[done..]);
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
        self.labels.clear();
        self.size = 0;
    }

    pub fn clear(&mut self) {
        self.accesses.clear();
        self.labels.clear();
        self.runs.clear();
        self.streams.clear();
        self.stream_labels.clear();
        self.marks.clear();
        self.lives.clear();
        self.size = 0;
    }

    /// Has everything followed, with the stores that the engine need not know of.
    pub fn follow<F: Follower>(&self, follower: &mut F) {
        let singles =
            |(follower, marks, done): &mut (&mut F, &[Mark], usize), accesses: &[Access], labels: &[Label]| {
                let (all, first, mut from) = (*marks, *done, 0);
                *done += accesses.len();
                let (these, later) = all.split_at(all.partition_point(|mark| mark.access < *done));
                *marks = later;
                for mark in these {
                    let at = mark.access - first;
                    follower.accesses(&accesses[from..=at], &labels[from..=at]);
                    follower.accesses(&[Access { kind: Kind::Store, ..accesses[at] }], &[mark.label]);
                    from = at + 1;
                }
                follower.accesses(&accesses[from..], &labels[from..]);
            };
        let run =
            |(follower, ..): &mut (&mut F, &[Mark], usize), streams: &[Stream], labels: &[Label], iterations: u64| {
                follower.run(streams, labels, iterations);
            };
        self.each(&mut (follower, self.marks.as_slice(), 0), singles, run);
    }
}
