//! Who does what the engine of a ring is asked to do, or keeps it.
//!
//! Takes nothing by itself: the pipeline hands batches to whoever is there. Says what is known of each; what only one
//! of them knows, the others have none of.

use super::{
    super::{engine_slot::EngineSlot, items::Items},
    there::There,
};
use crate::observe::sample::{Design, Sampler};

/// An engine, or what is in its place.
pub enum Backend {
    Here(EngineSlot),
    /// No engine: costs are estimated from a sample.
    Sampled(Box<Sampler>),
    There(There),
    /// Whoever takes the items has an engine for several rings.
    Deferred(Items),
    /// No engine: nobody but those who follow beside it is told.
    Nowhere,
}

impl Backend {
    /// Draws a sample.
    #[must_use]
    pub fn sampling(design: Design) -> Self {
        Self::Sampled(Box::new(Sampler::new(design)))
    }

    /// Keeps what an engine would be asked to do, and lives of memory if they are wanted.
    #[must_use]
    pub fn deferring(wants_lives: bool) -> Self {
        Self::Deferred(Items::new(wants_lives))
    }

    /// An engine that is here.
    pub fn engine_here(&mut self) -> Option<&mut EngineSlot> {
        if let Self::Here(engine_slot) = self { Some(engine_slot) } else { None }
    }

    /// What was kept; call after the queue was handed over.
    pub fn deferred_items(&mut self) -> Option<&mut Items> {
        if let Self::Deferred(items) = self { Some(items) } else { None }
    }

    /// Whether lives of memory are kept.
    #[inline]
    #[must_use]
    pub fn wants_lives(&self) -> bool {
        matches!(self, Self::Deferred(items) if items.wants_lives)
    }

    /// Whether a sample looks at bytes, as long as it is quiet.
    #[inline]
    #[must_use]
    pub fn marks(&self, address: u64, len: u64) -> bool {
        matches!(self, Self::Sampled(sampler) if sampler.marks(address, len))
    }

    /// Whether the engine, or what is in its place, has a thread of its own.
    #[must_use]
    pub fn is_threaded(&self) -> bool {
        match self {
            Self::Sampled(sampler) => sampler.is_on_threads(),
            Self::There(_) => true,
            Self::Here(_) | Self::Deferred(_) | Self::Nowhere => false,
        }
    }

    /// Whether those who observe beside it have a thread there.
    #[inline(always)]
    #[must_use]
    pub fn has_beside(&self) -> bool {
        matches!(self, Self::There(there) if there.has_beside())
    }

    /// Memory held, in bytes, as last heard.
    #[must_use]
    pub fn heap_bytes(&self) -> u64 {
        match self {
            Self::Here(engine_slot) => engine_slot.engine().heap_bytes(),
            Self::Sampled(sampler) => sampler.heap_bytes(),
            Self::There(there) => there.held(),
            Self::Deferred(items) => items.heap_bytes(),
            Self::Nowhere => 0,
        }
    }

    /// Accesses of affine runs that an engine, which is here, did in blocks.
    #[must_use]
    pub fn in_blocks(&self) -> u64 {
        if let Self::Here(engine_slot) = self { engine_slot.engine().in_blocks() } else { 0 }
    }
}
