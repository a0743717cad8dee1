//! The streams of an affine run at hand, each with its label.
//!
//! Takes a run's streams one by one; gives them to who hands the run on. It is kept for its memory: who replays a run
//! empties it, fills it and hands it on, and nobody reads it later.

use super::counters::Counters;
use crate::{
    engine::{AccessTag, Kind, Stream},
    objects::Objects,
};

/// The streams of a run, and their labels.
#[derive(Default)]
pub(super) struct RunStreams {
    pub(super) streams: Vec<Stream>,
    pub(super) labels: Vec<AccessTag>,
}

impl RunStreams {
    pub(super) fn clear(&mut self) {
        self.streams.clear();
        self.labels.clear();
    }

    #[inline]
    pub(super) fn push(&mut self, stream: Stream, label: AccessTag) {
        self.streams.push(stream);
        self.labels.push(label);
    }

    /// Puts the cells of the objects in the place of the streams' cells, if each stream stays within one object.
    pub(super) fn take_cells_of(&mut self, objects: &mut Objects, counters: &mut Counters, iterations: u64) -> bool {
        for (stream, label) in self.streams.iter().zip(&mut self.labels) {
            let Some(object) = objects.layout.whole_stream(stream, iterations) else { return false };
            *label = AccessTag::for_cell(counters.cell_of(label.cell(), object));
        }
        objects.layout.read_rows(&self.streams, iterations);
        true
    }

    /// Counts what the streams write.
    pub(super) fn count_written(&self, counters: &mut Counters, iterations: u64) {
        for (stream, label) in self.streams.iter().zip(&self.labels) {
            if stream.kind == Kind::Store {
                counters.cells[label.cell().index()].written += u64::from(stream.len) * iterations;
            }
        }
    }
}
