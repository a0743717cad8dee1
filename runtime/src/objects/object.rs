//! What an object is, where it was allocated, and how often it lived.

use serde::{Deserialize, Serialize};

use crate::decode::{context::ContextNumber, locator::SegmentNumber};

/// An object, in the numbers of its ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Object {
    /// Memory that no record announced.
    Unknown,
    /// Context and call site of the allocation. Context 0 (the root): any.
    Block {
        /// Calling context of the allocation; 0: any.
        context: ContextNumber,
        /// Segment of the call of the allocator, if it has one.
        segment: Option<SegmentNumber>,
    },
    /// A file by its number ([`super::table::ObjectTable::file`]), or memory of the kernel's.
    Mapping {
        /// Calling context of the call; 0: any.
        context: ContextNumber,
        /// Segment of the call, if it has one.
        segment: Option<SegmentNumber>,
        /// Number of the mapped file.
        file: Option<u32>,
    },
    /// Table and number in [`crate::sites::SiteTable::data`].
    Datum {
        /// Number of the table.
        table: u32,
        /// Number in the table's data.
        datum: u32,
    },
    /// Table and number in [`crate::sites::SiteTable::slots`].
    Slot {
        /// Number of the table.
        table: u32,
        /// Number in the table's slots.
        slot: u32,
    },
}

/// The call of an allocation: calling context and call site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The calling context.
    pub context: ContextNumber,
    /// The call site's segment; none in code without hooks.
    pub segment: Option<SegmentNumber>,
}

/// How often memory of an object began to live, and how much.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Life {
    /// Blocks, mappings, activations.
    pub times: u64,
    /// Bytes of all of them.
    pub bytes: u64,
    /// Bytes at once: now, and the most.
    pub live: u64,
    /// Most bytes that lived at one time.
    pub peak: u64,
}

impl Life {
    pub(super) fn start(&mut self, bytes: u64) {
        self.times += 1;
        self.bytes += bytes;
        self.grow(bytes);
    }

    pub(super) fn grow(&mut self, bytes: u64) {
        self.live += bytes;
        self.peak = self.peak.max(self.live);
    }

    /// Some of it may have been taken away unseen.
    pub(super) fn end(&mut self, bytes: u64) {
        self.live = self.live.saturating_sub(bytes);
    }
}
