//! What is known about a region when it has ended, and the sink that fills it in.

use super::{price::PriceSink, stack::ValueStack};
use crate::{
    abi::OP_CLASSES,
    session::counters::{CellCounters, DepthCounts},
};

/// Sums over all executions of the regions of one name.
#[derive(Clone, Debug, Default)]
pub struct RegionTotals {
    pub name: String,
    pub times: u64,
    /// Values read, by instructions and escapes.
    pub reads: u64,
    pub bytes_read: u64,
    /// Reads that produce nothing: branch conditions, indices, addresses.
    pub escapes: u64,
    /// Instructions with at least one tracked operand.
    pub instructions: u64,
    pub ops: [u64; OP_CLASSES],
    pub cost: u128,
    pub depths: DepthCounts,
    /// Longest chain of dependent instructions; summed, as executions follow each other.
    pub span: u64,
    /// The same to values declared as outputs.
    pub span_outputs: u64,
    /// Largest of all executions, in bytes.
    pub peak_live: u64,
    /// Bytes of inputs that were used.
    pub input_bytes: u64,
    /// Inputs were not declared: they came in order of their first use.
    pub first_use_inputs: bool,
    /// The program ended first.
    pub unfinished: u64,
}

impl RegionTotals {
    pub fn merge(&mut self, other: &Self) {
        self.times += other.times;
        self.reads += other.reads;
        self.bytes_read += other.bytes_read;
        self.escapes += other.escapes;
        self.instructions += other.instructions;
        for (sum, n) in self.ops.iter_mut().zip(other.ops) {
            *sum += n;
        }
        self.cost += other.cost;
        self.depths.merge(&other.depths);
        self.span += other.span;
        self.span_outputs += other.span_outputs;
        self.peak_live = self.peak_live.max(other.peak_live);
        self.input_bytes += other.input_bytes;
        self.first_use_inputs |= other.first_use_inputs;
        self.unfinished += other.unfinished;
    }
}

/// Files reads in their cells and in the region.
pub struct Filing<'a> {
    pub cells: &'a mut [CellCounters],
    /// All reads of the region, as one cell.
    pub all: CellCounters,
    pub reads: u64,
    pub bytes: u64,
}

impl Filing<'_> {
    /// Adds what was filed to the region's totals.
    pub fn finish(mut self, totals: &mut RegionTotals) {
        self.all.flush();
        totals.reads += self.reads;
        totals.bytes_read += self.bytes;
        totals.cost += self.all.cost;
        totals.depths.merge(&self.all.depths);
    }
}

impl PriceSink for Filing<'_> {
    #[inline]
    fn push(&mut self, _value: u32, _stack: &ValueStack) {}

    #[inline]
    fn read(&mut self, cell: u32, _value: u32, above: u64, size: u64) {
        self.cells[cell as usize].read(above, size);
        self.all.read(above, size);
        self.reads += 1;
        self.bytes += size;
    }

    #[inline]
    fn done(&mut self, _cell: u32, _op: u8, _reads: &[(u32, u64)], _stack: &ValueStack) {}
}
