//! What one ring asked of the engine, in order, with the cells that results belong to: written down once, read forwards
//! and backwards.
//!
//! [`OpLog`] takes operations while the program runs and cuts them into blocks that can be read on their own; [`Ops`]
//! is one block read back. Because both passes of the exact analysis read the same operations, and nothing is decoded
//! twice, they cannot disagree about what the program did.
//!
//! A block is three columns: of each access its cell (as a difference to the one before, doubled, plus one if the cell
//! did something else last time), its address (as a difference to the cell's last one), and everything that is not an
//! access. All numbers are those of `varint`; differences are zigzag.
//!
//! ```text
//!   | accesses | bytes of cells | of addresses | of specials | cells ... | addresses ... | specials ... |
//!
//!   cells:     (0: no cell, else difference + 1) << 1 | changed; if changed, len << 2 | kind
//!   addresses: difference
//!   specials:  accesses since the special before << 2 | tag, then operands
//!              tag 0: a run, of streams and iterations, then cell, len << 2 | kind, difference, stride of each stream
//!              tag 1: a move; 2: an input; 3: an output
//! ```
//!
//! A block of one access, the load of 4 bytes at 0x1000 by cell 5, is 8 bytes:
//!
//! ```text
//!   01 02 02 00   1 access; 2, 2 and 0 bytes of columns
//!   17 10         (zigzag of 5, + 1) << 1 | 1; 4 << 2 | 0 for a load
//!   80 40         zigzag of 0x1000
//! ```

use std::{io, sync::Arc};

use super::{
    op::{Op, Ops, Special},
    spool::{BlockLocation, Spool, damaged},
    varint::{put, take, unzigzag, zigzag},
};
use crate::engine::{Access, AccessTag, Kind, Stream};

/// Accesses per block, about: enough to compress well, few enough to hold several blocks in memory.
const BLOCK: usize = 1 << 16;
/// Cells whose last access a block remembers, direct mapped.
const SLOTS: usize = 4096;

/// What a cell did last.
#[derive(Clone, Copy)]
struct Slot {
    addr: u64,
    len: u32,
    kind: Kind,
}

const NOTHING: Slot = Slot { addr: 0, len: 0, kind: Kind::Load };

fn slot_of(label: AccessTag) -> usize {
    label.index() % SLOTS
}

/// Columns of the open block.
struct Open {
    slots: Box<[Slot; SLOTS]>,
    last_cell: u32,
    /// Of streams, which are in a column of their own.
    last_stream_cell: u32,
    last_addr: u64,
    cells: Vec<u8>,
    addresses: Vec<u8>,
    specials: Vec<u8>,
    accesses: usize,
    since_special: usize,
    /// Accesses, those of runs included.
    size: usize,
}

impl Default for Open {
    fn default() -> Self {
        Self {
            slots: Box::new([NOTHING; SLOTS]),
            last_cell: 0,
            last_stream_cell: 0,
            last_addr: 0,
            cells: Vec::new(),
            addresses: Vec::new(),
            specials: Vec::new(),
            accesses: 0,
            since_special: 0,
            size: 0,
        }
    }
}

/// The operations of one ring.
pub struct OpLog {
    spool: Arc<Spool>,
    open: Open,
    blocks: Vec<BlockLocation>,
    outputs: Vec<(u64, u64)>,
    error: Option<io::Error>,
    /// Accesses per block.
    limit: usize,
}

/// All operations of a ring that has ended.
pub struct Recorded {
    pub spool: Arc<Spool>,
    pub blocks: Vec<BlockLocation>,
    /// Ranges that are needed when the ring has ended.
    pub outputs: Vec<(u64, u64)>,
}

impl OpLog {
    #[must_use]
    pub fn new(spool: Arc<Spool>) -> Self {
        Self::with_blocks_of(spool, BLOCK)
    }

    /// A log with blocks of another size than the usual, for tests.
    #[must_use]
    pub fn with_blocks_of(spool: Arc<Spool>, limit: usize) -> Self {
        Self { spool, open: Open::default(), blocks: Vec::new(), outputs: Vec::new(), error: None, limit }
    }

    /// Writes an operation down, if the engine is asked to do something.
    pub fn op(&mut self, op: Op<'_>) {
        match op {
            Op::Accesses { accesses, labels } => self.accesses(accesses, labels),
            Op::Run { streams, labels, iterations } => self.run(streams, labels, iterations),
            Op::Move { from, to, len } => self.rare(1, &[from, to, len]),
            Op::Input { addr, len } => self.rare(2, &[addr, len]),
            Op::Output { addr, len } => {
                self.rare(3, &[addr, len]);
                self.outputs.push((addr, len));
            }
            Op::Life(_) | Op::Sync(_) => {}
        }
    }

    fn accesses(&mut self, accesses: &[Access], labels: &[AccessTag]) {
        for (&access, &label) in accesses.iter().zip(labels) {
            self.open.access(access, label);
        }
        self.open.accesses += accesses.len();
        self.open.since_special += accesses.len();
        self.grown(accesses.len());
    }

    fn run(&mut self, streams: &[Stream], labels: &[AccessTag], iterations: u64) {
        let out = self.open.special(0);
        put(out, streams.len() as u64);
        put(out, iterations);
        for (stream, &label) in streams.iter().zip(labels) {
            self.open.stream(stream, label);
        }
        self.grown(streams.len() * iterations as usize);
    }

    fn rare(&mut self, tag: u64, operands: &[u64]) {
        let out = self.open.special(tag);
        operands.iter().for_each(|&operand| put(out, operand));
        self.grown(1);
    }

    fn grown(&mut self, accesses: usize) {
        self.open.size += accesses;
        if self.open.size >= self.limit {
            self.close();
        }
    }

    fn close(&mut self) {
        if self.open.cells.is_empty() && self.open.specials.is_empty() {
            return;
        }
        let bytes = self.open.take();
        // After a failure the rest is of no use: a backward pass needs the end.
        if self.error.is_none() {
            match self.spool.append(&bytes) {
                Ok(place) => self.blocks.push(place),
                Err(error) => self.error = Some(error),
            }
        }
    }

    /// Closes the log of a part of the ring; that of the next part begins.
    ///
    /// # Errors
    /// The first thing that went wrong with the file.
    pub fn cut(&mut self) -> io::Result<Recorded> {
        let next = Self::with_blocks_of(self.spool.clone(), self.limit);
        std::mem::replace(self, next).finish()
    }

    /// Closes the log.
    ///
    /// # Errors
    /// The first thing that went wrong with the file.
    pub fn finish(mut self) -> io::Result<Recorded> {
        self.close();
        match self.error {
            Some(error) => Err(error),
            None => Ok(Recorded { spool: self.spool, blocks: self.blocks, outputs: self.outputs }),
        }
    }
}

impl Open {
    #[inline]
    fn access(&mut self, access: Access, label: AccessTag) {
        let Access { addr, len, kind } = access;
        let slot = &mut self.slots[slot_of(label)];
        let changed = slot.len != len || slot.kind != kind;
        put(&mut self.cells, cell_code(&mut self.last_cell, label) << 1 | u64::from(changed));
        if changed {
            put(&mut self.cells, u64::from(len) << 2 | kind_code(kind));
        }
        put(&mut self.addresses, zigzag(addr.wrapping_sub(slot.addr)));
        *slot = Slot { addr, len, kind };
    }

    /// Begins something that is not an access.
    fn special(&mut self, tag: u64) -> &mut Vec<u8> {
        put(&mut self.specials, (self.since_special as u64) << 2 | tag);
        self.since_special = 0;
        &mut self.specials
    }

    fn stream(&mut self, stream: &Stream, label: AccessTag) {
        let out = &mut self.specials;
        put(out, cell_code(&mut self.last_stream_cell, label));
        put(out, u64::from(stream.len) << 2 | kind_code(stream.kind));
        put(out, zigzag(stream.addr.wrapping_sub(self.last_addr)));
        put(out, zigzag(stream.stride as u64));
        self.last_addr = stream.addr;
    }

    /// The block's bytes; the next block begins.
    fn take(&mut self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.cells.len() + self.addresses.len() + self.specials.len() + 32);
        put(&mut bytes, self.accesses as u64);
        for column in [&mut self.cells, &mut self.addresses, &mut self.specials] {
            put(&mut bytes, column.len() as u64);
        }
        for column in [&mut self.cells, &mut self.addresses, &mut self.specials] {
            bytes.append(column);
        }
        self.slots.fill(NOTHING);
        (self.last_cell, self.last_stream_cell, self.last_addr) = (0, 0, 0);
        (self.accesses, self.since_special, self.size) = (0, 0, 0);
        bytes
    }
}

#[inline]
fn kind_code(kind: Kind) -> u64 {
    match kind {
        Kind::Load => 0,
        Kind::Store => 1,
        Kind::Remove => 2,
        Kind::Last | Kind::Fresh => unreachable!("made of marks, never logged"),
    }
}

#[inline]
fn kind_of(code: u64) -> Option<Kind> {
    match code {
        0 => Some(Kind::Load),
        1 => Some(Kind::Store),
        2 => Some(Kind::Remove),
        _ => None,
    }
}

/// 0 for no cell, else one more than the difference to the last one.
#[inline]
fn cell_code(last: &mut u32, label: AccessTag) -> u64 {
    if label == AccessTag::UNCOUNTED {
        return 0;
    }
    let cell = label.index() as u32;
    let difference = u64::from(cell).wrapping_sub(u64::from(*last));
    *last = cell;
    zigzag(difference) + 1
}

#[inline]
fn label_of(last: &mut u32, code: u64) -> AccessTag {
    if code == 0 {
        return AccessTag::UNCOUNTED;
    }
    *last = last.wrapping_add(unzigzag(code - 1) as u32);
    AccessTag::new(*last as usize)
}

impl Ops {
    /// Reads a block.
    ///
    /// # Errors
    /// When the block cannot be read or is not a block.
    pub fn read(&mut self, spool: &Spool, place: BlockLocation) -> io::Result<()> {
        let bytes = spool.read(place)?;
        self.clear();
        self.decode(&bytes).ok_or_else(damaged)
    }

    fn decode(&mut self, mut bytes: &[u8]) -> Option<()> {
        let accesses = take(&mut bytes)? as usize;
        let mut lens = [0; 3];
        for len in &mut lens {
            *len = take(&mut bytes)? as usize;
        }
        let (cells, rest) = bytes.split_at_checked(lens[0])?;
        let (addresses, specials) = rest.split_at_checked(lens[1])?;
        self.decode_accesses(accesses, cells, addresses)?;
        self.decode_specials(specials)
    }

    fn decode_accesses(&mut self, count: usize, mut cells: &[u8], mut addresses: &[u8]) -> Option<()> {
        let mut slots = Box::new([NOTHING; SLOTS]);
        let mut last_cell = 0;
        self.accesses.reserve(count);
        self.labels.reserve(count);
        for _ in 0..count {
            let code = take(&mut cells)?;
            let label = label_of(&mut last_cell, code >> 1);
            let slot = &mut slots[slot_of(label)];
            if code & 1 == 1 {
                let what = take(&mut cells)?;
                (slot.len, slot.kind) = ((what >> 2) as u32, kind_of(what & 3)?);
            }
            slot.addr = slot.addr.wrapping_add(unzigzag(take(&mut addresses)?));
            self.accesses.push(Access { addr: slot.addr, len: slot.len, kind: slot.kind });
            self.labels.push(label);
        }
        Some(())
    }

    fn decode_specials(&mut self, mut specials: &[u8]) -> Option<()> {
        let bytes = &mut specials;
        let (mut after, mut last_cell, mut last_addr) = (0, 0, 0u64);
        while !bytes.is_empty() {
            let code = take(bytes)?;
            after += (code >> 2) as usize;
            let special = match code & 3 {
                0 => {
                    let (streams, iterations) = (take(bytes)? as usize, take(bytes)?);
                    for _ in 0..streams {
                        self.stream_labels.push(label_of(&mut last_cell, take(bytes)?));
                        let what = take(bytes)?;
                        last_addr = last_addr.wrapping_add(unzigzag(take(bytes)?));
                        let stride = unzigzag(take(bytes)?) as i64;
                        let (len, kind) = ((what >> 2) as u32, kind_of(what & 3)?);
                        self.streams.push(Stream { addr: last_addr, stride, len, kind });
                    }
                    Special::Run { streams, iterations }
                }
                1 => Special::Move { from: take(bytes)?, to: take(bytes)?, len: take(bytes)? },
                2 => Special::Input { addr: take(bytes)?, len: take(bytes)? },
                _ => Special::Output { addr: take(bytes)?, len: take(bytes)? },
            };
            self.specials.push((after, special));
        }
        Some(())
    }
}
