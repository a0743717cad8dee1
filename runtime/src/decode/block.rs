//! Executions of segments by calling context, and the numbers of their cells.

use super::{
    context::ContextNumber,
    locator::{FunctionNumber, Module, SegmentNumber},
};
use crate::{engine::AccessTag, numbers::number};

number! {
    /// Number of a cell: the counters of one access of a segment in one context.
    CellNumber
}

/// An access is called by its cell; one that is not counted by nothing or, where flows follow it, by its site.
impl AccessTag {
    /// Of an access that is replayed but not counted.
    pub const UNCOUNTED: Self = Self::new(u32::MAX as usize);

    /// Of an access that is charged to a cell.
    #[inline(always)]
    #[must_use]
    pub const fn for_cell(cell: CellNumber) -> Self {
        Self::new(cell.index())
    }

    /// The cell that the access is charged to; a number beyond those of all cells if there is none.
    #[inline(always)]
    #[must_use]
    pub const fn cell(self) -> CellNumber {
        CellNumber::new(self.index())
    }
}

/// Executions of one segment in one context, and where its cells start.
#[derive(Clone, Copy, Debug)]
pub struct BlockCounters {
    /// The calling context.
    pub node: ContextNumber,
    /// The segment.
    pub segment: SegmentNumber,
    /// How often the segment was executed while counting.
    pub executions: u64,
    pub(crate) first_cell: CellNumber,
    /// Executions of which only the moves were looked at; see `analysis::segment_template`.
    pub(crate) moved: u64,
}

/// The blocks of contexts. A context is of one function, so those of its segments lie side by side.
#[derive(Default)]
pub(crate) struct BlockNumbers {
    /// By segment: its function, and its number among that function's.
    place: Vec<(FunctionNumber, u32)>,
    /// By function: how many segments it has.
    segments: Vec<u32>,
    /// By context, once something ran in it: by number in the function, the block's number plus one, or 0.
    of_context: Vec<Box<[u32]>>,
}

impl BlockNumbers {
    /// Takes note of a module.
    pub fn add(&mut self, module: &Module) {
        let table = &module.placed.table;
        self.segments.resize(module.first_function.index() + table.functions.len(), 0);
        for segment in &table.segments {
            let function = module.function_number(segment.function);
            let segments = &mut self.segments[function.index()];
            self.place.push((function, *segments));
            *segments += 1;
        }
    }

    /// The block of a segment in a context of its function; if there is none, that becomes `next`.
    #[inline(always)]
    pub fn find(&mut self, node: ContextNumber, segment: SegmentNumber, next: u32) -> u32 {
        let (function, number) = self.place[segment.index()];
        match self.of_context.get(node.index()).and_then(|blocks| blocks.get(number as usize)) {
            Some(block) if *block > 0 => block - 1,
            _ => self.make(node, function, number, next),
        }
    }

    #[cold]
    fn make(&mut self, node: ContextNumber, function: FunctionNumber, number: u32, next: u32) -> u32 {
        let node = node.index();
        if self.of_context.len() <= node {
            self.of_context.resize_with(node + 1, Box::default);
        }
        let blocks = &mut self.of_context[node];
        // A function of an emulated program may have got more segments since.
        if blocks.len() <= number as usize {
            let mut longer = std::mem::take(blocks).into_vec();
            longer.resize(self.segments[function.index()] as usize, 0);
            *blocks = longer.into();
        }
        blocks[number as usize] = next + 1;
        next
    }
}
