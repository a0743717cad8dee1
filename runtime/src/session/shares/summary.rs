//! What is known of a part of a trace once it was replayed on its own, and the file that this is kept in.
//!
//! Takes and gives [`Summary`]s. A file is a magic number, two blocks with their lengths and checksums (who it is, and
//! what was counted), and nothing else. Refuses, with what to do about it, anything that is not as it was written.

use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::super::absorb::Counted;
use crate::{
    counts::{cell::CellCounters, depths::DepthCounts},
    decode::{block::BlockCounters, context::ContextNumber, ring::RingTotals},
    engine::Frontier,
    trace::{End, Ring, TraceModule},
};

/// First bytes of a file of a slice.
const MAGIC: [u8; 8] = *b"\x89DMDS\r\n\n";
/// Bumped whenever the meaning of the bytes after it changes.
const VERSION: u32 = 1;
/// Of most of what is in a summary, this is as small as higher ones make it.
const LEVEL: i32 = 3;

/// Whose part it is, and which.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Name {
    /// From 1.
    pub part: u32,
    /// Of how many.
    pub parts: u32,
    /// Checksum of the trace's first bytes, and its length.
    pub trace: (u32, u64),
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Options of the analysis.
    pub analysis: Vec<String>,
}

/// What a part of a trace comes to.
#[derive(Debug, Serialize, Deserialize)]
pub struct Summary {
    /// All modules up to the end of the part, in the order of the trace.
    pub(super) modules: Vec<TraceModule>,
    pub(super) rings: Vec<RingPart>,
    /// If the trace ends in the part.
    pub(super) end: Option<End>,
    pub(super) cut_at: Option<u64>,
}

/// What a part of a trace has of one ring.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RingPart {
    pub number: u32,
    pub ring: Ring,
    pub used: bool,
    pub is_ended: bool,
    /// Modules in the ring's order: number of the table, and address.
    pub placed: Vec<(u32, u64)>,
    /// Contexts (parent and function) that the ring has met in this part first, and the number of those before.
    pub contexts_before: u32,
    pub contexts: Vec<(ContextNumber, u32)>,
    pub frontier: Frontier,
    pub counts: Counts,
}

/// What was counted, in the ring's numbers.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Counts {
    /// Context, segment, executions and first cell.
    blocks: Vec<(ContextNumber, u32, u64, u32)>,
    cells: Vec<CellCounts>,
    /// Of contexts that were called.
    calls: Vec<(u32, u64)>,
    accesses: u64,
    unknown_frees: u64,
    lost_words: u64,
    pub active: bool,
    roi_seen: bool,
    in_blocks: u64,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct CellCounts {
    executions: u64,
    written: u64,
    cost: u128,
    depths: Vec<(u16, u64)>,
}

impl Counts {
    pub fn new(counted: Counted, active: bool) -> Self {
        let Counted { blocks, cells, calls, totals, .. } = counted;
        let cell = |mut cell: CellCounters| {
            cell.flush();
            let depths = cell.depths.iter().collect();
            CellCounts { executions: cell.executions, written: cell.written, cost: cell.cost, depths }
        };
        Self {
            blocks: blocks.iter().map(|b| (b.node, b.segment, b.executions, b.first_cell)).collect(),
            cells: cells.into_iter().map(cell).collect(),
            calls: (0..).zip(calls).filter(|(_, calls)| *calls > 0).collect(),
            accesses: totals.accesses,
            unknown_frees: totals.unknown_frees,
            lost_words: totals.lost_words,
            active,
            roi_seen: totals.roi_seen,
            in_blocks: totals.in_blocks,
        }
    }

    pub fn cells(&self) -> usize {
        self.cells.len()
    }

    pub fn lose(&mut self, words: u64) {
        self.lost_words += words;
    }

    pub fn counted(self) -> Counted {
        let cell = |cell: CellCounts| {
            let mut depths = DepthCounts::default();
            cell.depths.iter().for_each(|&(bucket, bytes)| depths.add(bucket, bytes));
            let CellCounts { executions, written, cost, .. } = cell;
            let mut counters = CellCounters::default();
            (counters.executions, counters.written) = (executions, written);
            (counters.cost, counters.depths) = (cost, depths);
            counters
        };
        let mut calls = Vec::new();
        for (node, more) in self.calls {
            calls.resize(calls.len().max(node as usize + 1), 0);
            calls[node as usize] = more;
        }
        let block =
            |(node, segment, executions, first_cell)| BlockCounters { node, segment, executions, first_cell, moved: 0 };
        Counted {
            blocks: self.blocks.into_iter().map(block).collect(),
            cells: self.cells.into_iter().map(cell).collect(),
            calls,
            totals: RingTotals {
                accesses: self.accesses,
                unknown_frees: self.unknown_frees,
                lost_words: self.lost_words,
                roi_seen: self.roi_seen,
                in_blocks: self.in_blocks,
                ..RingTotals::default()
            },
            hash: None,
        }
    }

    /// Whether all numbers are of something: those of blocks of cells, and all below these limits.
    pub fn is_sound(&self, contexts: usize, segments: u32) -> bool {
        let firsts = self.blocks.iter().map(|block| block.3 as usize);
        firsts.clone().is_sorted()
            && firsts.chain([self.cells.len()]).all(|first| first <= self.cells.len())
            && self.blocks.first().is_none_or(|block| block.3 == 0)
            && self.blocks.iter().all(|block| block.0.index() < contexts && block.1 < segments)
            && self.calls.iter().all(|call| (call.0 as usize) < contexts)
    }
}

/// Why a file of a slice cannot be used. The messages name no file.
#[derive(Debug, thiserror::Error)]
pub enum SummaryError {
    /// What the system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It begins as something else.
    #[error("not a slice of a trace: it starts with other bytes; make one with `dmdprof slice`")]
    NotASlice,
    /// Of another version of the format.
    #[error("made by another dmdprof: expected format {VERSION}, found {found}; make the slice again")]
    Version {
        /// Its version.
        found: u32,
    },
    /// Something in it is not as it was written.
    #[error("damaged: {0}; copy the file again, or make the slice again")]
    Damaged(&'static str),
}

/// Writes a file.
///
/// # Errors
/// What the system refuses.
pub fn write(to: &mut dyn Write, name: &Name, summary: &Summary) -> io::Result<()> {
    to.write_all(&MAGIC)?;
    to.write_all(&VERSION.to_le_bytes())?;
    write_block(to, name)?;
    write_block(to, summary)
}

fn write_block(to: &mut dyn Write, what: &impl Serialize) -> io::Result<()> {
    let bytes = postcard::to_stdvec(what).map_err(io::Error::other)?;
    let packed = zstd::bulk::compress(&bytes, LEVEL)?;
    to.write_all(&(packed.len() as u64).to_le_bytes())?;
    to.write_all(&(bytes.len() as u64).to_le_bytes())?;
    to.write_all(&crc32fast::hash(&packed).to_le_bytes())?;
    to.write_all(&packed)
}

/// Reads whose part a file is.
///
/// # Errors
/// [`SummaryError`].
pub fn read_name(from: &mut dyn Read) -> Result<Name, SummaryError> {
    let mut head = [0; 12];
    from.read_exact(&mut head).map_err(|_| SummaryError::NotASlice)?;
    if head[..8] != MAGIC {
        return Err(SummaryError::NotASlice);
    }
    let found = u32::from_le_bytes([head[8], head[9], head[10], head[11]]);
    if found != VERSION {
        return Err(SummaryError::Version { found });
    }
    read_block(from)
}

/// Reads what is behind the name, which is all.
///
/// # Errors
/// [`SummaryError`].
pub fn read_summary(from: &mut dyn Read) -> Result<Summary, SummaryError> {
    let summary = read_block(from)?;
    match from.read(&mut [0])? {
        0 => Ok(summary),
        _ => Err(SummaryError::Damaged("there is something after the end")),
    }
}

fn read_block<T: DeserializeOwned>(from: &mut dyn Read) -> Result<T, SummaryError> {
    let cut = |_| SummaryError::Damaged("it ends too early");
    let mut head = [0; 20];
    from.read_exact(&mut head).map_err(cut)?;
    let number = |at: usize| head[at..at + 8].iter().rev().fold(0u64, |all, byte| all << 8 | u64::from(*byte));
    let (len, unpacked) = (number(0), number(8));
    let mut packed = Vec::new();
    from.take(len).read_to_end(&mut packed)?;
    if packed.len() as u64 != len {
        return Err(SummaryError::Damaged("it ends too early"));
    }
    if crc32fast::hash(&packed).to_le_bytes() != head[16..] {
        return Err(SummaryError::Damaged("a checksum does not fit"));
    }
    let bytes = usize::try_from(unpacked).ok().and_then(|len| zstd::bulk::decompress(&packed, len).ok());
    let bytes = bytes.ok_or(SummaryError::Damaged("a block that does not decompress"))?;
    match postcard::take_from_bytes(&bytes) {
        Ok((what, [])) => Ok(what),
        _ => Err(SummaryError::Damaged("a block that does not decode")),
    }
}
