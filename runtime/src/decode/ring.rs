//! What a replay of a ring knows in the end, whatever it was replayed for.

use super::{
    block::BlockCounters,
    context::{ContextNumber, Contexts},
    locator::{FunctionNumber, Module, SegmentNumber, function_key, segment_key},
};

/// A static access: segment, and item of the segment.
pub type RingSite = (SegmentNumber, u32);

/// Totals of one ring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RingTotals {
    /// Accesses.
    pub accesses: u64,
    /// Frees of blocks that no record announced.
    pub unknown_frees: u64,
    /// Chunks' rests that could not be decoded, in words.
    pub lost_words: u64,
    /// Frames with variables of which it is not known whether they have ended.
    pub unseen_frames: u64,
    /// Segments that match the region of interest were seen.
    pub roi_seen: bool,
    /// Most bytes that lived at one time.
    pub peak_live: u64,
    /// Distinct bytes that were touched.
    pub footprint: u64,
    /// Any record at all was replayed.
    pub active: bool,
    /// Most memory that the search for dead bytes took.
    pub sweep_bytes: u64,
    /// Accesses that the engine did in blocks of iterations.
    pub in_blocks: u64,
    /// See `analysis::fast_paths::DepthHash`, if it was asked for.
    pub depth_hash: Option<u64>,
}

impl RingTotals {
    /// Counts a chunk of which so many words could not be decoded.
    pub fn replayed(&mut self, words: &[u64], lost: u64) {
        self.lost_words += lost;
        self.active |= lost == 0 && !words.is_empty();
    }

    /// Adds what a part of the ring has counted; the rest is the whole ring's.
    pub fn add_part(&mut self, part: &Self) {
        self.accesses += part.accesses;
        self.unknown_frees += part.unknown_frees;
        self.unseen_frames += part.unseen_frames;
        self.lost_words += part.lost_words;
        self.roi_seen |= part.roi_seen;
        self.in_blocks += part.in_blocks;
    }
}

/// The program's side of a replayed ring, in the ring's own numbering.
pub struct DecodedRing {
    pub(crate) modules: Vec<Module>,
    /// Its calling contexts.
    pub contexts: Contexts,
    /// Its totals.
    pub totals: RingTotals,
}

impl DecodedRing {
    /// Table of a segment, and its number in that.
    #[must_use]
    pub fn segment(&self, dense: SegmentNumber) -> (u32, u32) {
        segment_key(&self.modules, dense).expect("numbers come from a module")
    }

    /// Table of a function, and its number in that.
    #[must_use]
    pub fn function(&self, dense: FunctionNumber) -> Option<(u32, u32)> {
        function_key(&self.modules, dense)
    }

    /// Table, number of the segment in it, and number of the item in that.
    #[must_use]
    pub fn site(&self, (segment, item): RingSite) -> (u32, u32, u32) {
        let (table, segment) = self.segment(segment);
        (table, segment, item)
    }

    /// The function of the outermost context below which most was executed, the first of several: table, and number in
    /// it.
    #[must_use]
    pub fn start(&self, blocks: &[BlockCounters]) -> Option<(u32, u32)> {
        let nodes = &self.contexts.nodes;
        let mut executions = vec![0u64; nodes.len()];
        for block in blocks {
            executions[block.node.index()] += block.executions;
        }
        // Parents come before children, so each has all that is below it when its turn comes.
        for node in (1..nodes.len()).rev() {
            let parent = nodes[node].parent.index();
            executions[parent] += if parent == 0 { 0 } else { executions[node] };
        }
        let outermost = (1..nodes.len()).filter(|node| nodes[*node].parent == ContextNumber::ROOT);
        outermost.rev().max_by_key(|node| executions[*node]).and_then(|node| self.function(nodes[node].function?))
    }
}
