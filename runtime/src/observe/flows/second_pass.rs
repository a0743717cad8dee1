//! What a slice of a run asks of the stack before it, by flow, in the second of two passes over it.
//!
//! Takes what is asked ([`Boundary`]), and whose the pieces of reads are; gives flows by ask ([`AskedFlows`]), so that
//! the answers go to them. Refuses nothing.

use std::collections::HashMap;

use super::{
    counters::FlowCounters,
    parts::{Cursor, Numbered, Parts, Piece},
    states::NamedState,
};
use crate::{
    engine::{AccessTag, Boundary, DepthRun, Kind, MissRequest},
    hash::FastHash,
    shadow::ByteLabel,
};

/// What is kept of slices.
#[derive(Default)]
pub(super) struct SecondPass {
    /// States from before the slice at hand.
    pub before: HashMap<NamedState, ByteLabel, FastHash>,
    pub asked: AskedFlows,
}

/// An ask that has a number in the place of its label.
#[derive(Debug)]
struct OfAsk {
    label: AccessTag,
    /// Its first piece; those of the next ask follow.
    first: u32,
    at: Cursor,
}

/// The flows of everything that a slice asked.
#[derive(Debug, Default)]
pub struct AskedFlows {
    asks: Vec<OfAsk>,
    pieces: Vec<Piece>,
    /// Loops that were noted.
    loops: usize,
    /// Flows that there are.
    pub flows: usize,
}

impl AskedFlows {
    /// Notes what was asked since the last time, and numbers it.
    pub(super) fn note(&mut self, boundary: &mut Boundary, parts: &mut Parts) {
        while self.asks.len() < boundary.asks.len() {
            let done = self.asks.len();
            let next = boundary.loops.get(self.loops).copied();
            let (end, iterations) = match next {
                Some(next) if next.first == done => (done + next.asks, next.iterations),
                Some(next) => (next.first, 1),
                None => (boundary.asks.len(), 1),
            };
            // In a loop, each access has a label of its own.
            for access in boundary.asks[done..end].chunk_by_mut(|_, next| next.joined) {
                self.note_access(access, iterations, parts);
            }
            self.loops += usize::from(next.is_some_and(|next| next.first == done));
        }
    }

    /// All asks of an access, in some iterations: they are told of under the number of the first.
    fn note_access(&mut self, asks: &mut [MissRequest], iterations: u64, parts: &mut Parts) {
        let number = AccessTag::new(self.asks.len());
        let first = self.pieces.len() as u32;
        let is_load = asks[0].kind == Kind::Load;
        if is_load {
            let bytes: u64 = asks.iter().map(|ask| u64::from(ask.len)).sum();
            let pieces = &mut self.pieces;
            parts.asks(asks[0].label, bytes * iterations, |piece| pieces.push(piece));
        }
        let label = if is_load { parts.label(asks[0].label) } else { AccessTag::default() };
        for (place, ask) in asks.iter_mut().enumerate() {
            let first = if place == 0 { first } else { self.pieces.len() as u32 };
            self.asks.push(OfAsk { label, first, at: Cursor::default() });
            ask.label = number;
        }
    }
}

impl Numbered for AskedFlows {
    fn label(&self, number: AccessTag) -> AccessTag {
        self.asks[number.index()].label
    }

    #[inline]
    fn file_found(&mut self, counters: &mut FlowCounters, number: AccessTag, found: DepthRun) {
        let end = self.asks.get(number.index() + 1).map_or(self.pieces.len(), |next| next.first as usize);
        let OfAsk { first, at, .. } = &mut self.asks[number.index()];
        at.file_found(&self.pieces[*first as usize..end], counters, found);
    }
}
