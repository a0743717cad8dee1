//! What is known about a region when it has ended, and the sink that fills it in.

use serde::{Deserialize, Serialize};

use super::{price::PriceSink, stack::ValueStack};
use crate::{
    abi::OP_CLASSES,
    counts::{Merge, cell::CellCounters, depths::DepthCounts},
};

/// Sums over all executions of the regions of one name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegionTotals<Held = DepthCounts> {
    /// The name that the program declared.
    pub name: String,
    /// How often it was executed.
    pub times: u64,
    /// Values read, by instructions and escapes.
    pub reads: u64,
    /// Bytes that its reads read.
    pub bytes_read: u64,
    /// Reads that produce nothing: branch conditions, indices, addresses.
    pub escapes: u64,
    /// Instructions with at least one tracked operand.
    pub instructions: u64,
    /// Operations by class.
    pub ops: [u64; OP_CLASSES],
    /// Sum of ceil(sqrt(depth)) over the bytes read.
    pub cost: u128,
    /// Bytes read, by depth.
    pub depths: Held,
    /// Longest chain of dependent instructions; summed, as executions follow each other.
    pub span: u64,
    /// Longest chain of dependent instructions that ends in a value declared as output; summed over executions.
    pub span_outputs: u64,
    /// Largest of all executions, in bytes.
    pub peak_live: u64,
    /// Bytes of inputs that were used.
    pub input_bytes: u64,
    /// Inputs were not declared: they came in order of their first use.
    pub first_use_inputs: bool,
    /// The program ended first.
    pub unfinished: u64,
    /// Declared inputs of which nothing was used, and their bytes.
    pub unread_inputs: u64,
    /// Bytes of declared inputs of which nothing was used.
    pub unread_bytes: u64,
    /// Operands and escapes that are constants only because they were loaded from an input before the region began.
    pub early_reads: u64,
}

impl RegionTotals {
    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        Merge::merge(self, other);
    }
}

/// They have the same name.
impl<Held: Merge<Other>, Other> Merge<RegionTotals<Other>> for RegionTotals<Held> {
    fn merge(&mut self, other: &RegionTotals<Other>) {
        self.name.clone_from(&other.name);
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
        self.unread_inputs += other.unread_inputs;
        self.unread_bytes += other.unread_bytes;
        self.early_reads += other.early_reads;
    }
}

/// Files the reads of one region, each in its cell.
#[derive(Default)]
pub struct Filing {
    /// By cell; empty but for those in `touched`.
    cells: Vec<Filed>,
    touched: Vec<u32>,
    reads: u64,
    bytes: u64,
    /// Bytes of every value, or 0: reads near the top are then only counted, and priced when the region ends.
    one_size: u64,
}

/// Reads with fewer bytes above them than this are counted one by one.
const NEAR: usize = 2048;

#[derive(Default)]
struct Filed {
    is_touched: bool,
    /// Reads by bytes above; as long as the deepest so far needs.
    near: Vec<u32>,
    far: CellCounters,
}

impl Filing {
    /// Makes room for cells with numbers below `count`.
    pub fn start(&mut self, count: usize, one_size: Option<u8>) {
        self.cells.resize_with(count, Filed::default);
        self.one_size = u64::from(one_size.unwrap_or(0));
    }

    /// Adds what was filed to the run's cells and to the region's totals, and is empty again.
    pub fn finish(&mut self, all: &mut [CellCounters], totals: &mut RegionTotals) {
        for cell in self.touched.drain(..) {
            let Filed { near, mut far, .. } = std::mem::take(&mut self.cells[cell as usize]);
            for (above, times) in (0..).zip(near).filter(|(_, times)| *times > 0) {
                far.read_times(above, self.one_size, u64::from(times));
            }
            far.flush();
            totals.cost += far.cost;
            totals.depths.merge(&far.depths);
            all[cell as usize].merge(&mut far);
        }
        totals.reads += std::mem::take(&mut self.reads);
        totals.bytes_read += std::mem::take(&mut self.bytes);
    }
}

impl Filing {
    #[inline(never)]
    fn read_elsewhere(&mut self, cell: u32, above: u64, size: u64) {
        let filed = &mut self.cells[cell as usize];
        let near = above as usize;
        if self.one_size > 0 && near < NEAR && near >= filed.near.len() {
            filed.near.resize((near + 1).next_multiple_of(64), 0);
            filed.near[near] = 1;
        } else {
            filed.far.read(above, size);
        }
    }
}

impl PriceSink for Filing {
    #[inline(always)]
    fn push(&mut self, _value: u32, _stack: &ValueStack) {}

    #[inline(always)]
    fn read(&mut self, cell: u32, _value: u32, above: u64, size: u64) {
        let filed = &mut self.cells[cell as usize];
        if !filed.is_touched {
            filed.is_touched = true;
            self.touched.push(cell);
        }
        match filed.near.get_mut(above as usize) {
            Some(count) if *count < u32::MAX => *count += 1,
            _ => self.read_elsewhere(cell, above, size),
        }
        self.reads += 1;
        self.bytes += size;
    }

    #[inline(always)]
    fn done(&mut self, _cell: u32, _op: u8, _reads: &[(u32, u64)], _stack: &ValueStack) {}
}
