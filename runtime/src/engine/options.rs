//! What tests and experiments may choose of an engine; nobody else needs to.

use super::{cell::Cell, isa::Isa};

/// What tests and experiments may want to choose.
#[derive(Clone, Copy, Debug)]
pub struct EngineOptions {
    /// Instruction set; one the processor lacks is replaced by what it has.
    pub isa: Option<Isa>,
    /// Positions handed out between two renumberings, at least. Small values make renumbering constant.
    pub min_positions: u64,
    /// Size of the timeline over the number of live bytes.
    pub growth: u64,
    /// Positions beyond that, at most as many again: what small programs may have for fewer renumberings.
    pub spare: u64,
    /// Positions handed out per allocated cell between two renumberings, at least, as these walk all cells.
    pub per_cell: u64,
    /// Start with 64-bit cells.
    pub wide: bool,
    /// Positions the 32-bit cells may use (at most 2^31).
    pub narrow_limit: u64,
    /// Pages (of 16 KiB) that have a table of their own from the first touch on; others once more than a few cells of
    /// them were touched.
    pub full_pages: usize,
    /// Do affine runs in blocks of iterations; otherwise access by access.
    pub affine: bool,
    /// Report what a stream's loads in an affine run find in the order of its iterations, and of the bytes of an
    /// access; there are fewer blocks then.
    pub in_order: bool,
}

impl Default for EngineOptions {
    fn default() -> Self {
        EngineOptions {
            isa: None,
            min_positions: (1 << 16) - 256,
            growth: 4,
            spare: 100 << 20,
            per_cell: 1,
            wide: false,
            narrow_limit: 1 << 31,
            full_pages: 1 << 12,
            affine: true,
            in_order: false,
        }
    }
}

impl EngineOptions {
    pub(super) fn narrow_limit_for<C: Cell>(&self) -> u64 {
        if C::POOLED == u32::POOLED { self.narrow_limit } else { u64::MAX }
    }
}
