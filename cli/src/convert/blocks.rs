//! Pieces of straight code with their operations, and how often they were executed.

use std::collections::BTreeMap;

use dmdprof_runtime::{abi::OP_CLASSES, analysis::MergedBlock, steps::ValueOp};

use super::{Builder, Contexts, linked_key, read::access_kind};
use crate::profile::model::{AccessKind, Block, BlockCount, BlockId, ContextId, FunctionId};

/// Order of blocks: function, table, segment, and in the values model the instruction's place in it from 1 on.
type BlockKey = (FunctionId, u32, u32, u32);

pub(super) struct Blocks {
    pub list: Vec<Block>,
    pub counts: Vec<BlockCount>,
}

impl Builder<'_> {
    pub(super) fn blocks(&self, contexts: &Contexts) -> Blocks {
        let mut found: BTreeMap<BlockKey, Block> = BTreeMap::new();
        let mut counts: BTreeMap<(ContextId, BlockKey), u64> = BTreeMap::new();
        for block in &self.measured.run.blocks {
            let table = self.measured.table(block.table);
            let segment = &table.segments[block.segment as usize];
            self.instruction_blocks(block, contexts, &mut found, &mut counts);
            let ops = &table.ops[segment.ops.start as usize..segment.ops.end as usize];
            if ops.is_empty() || block.executions == 0 {
                continue;
            }
            let function = self.function_ids[&linked_key(table, segment.function)];
            let key = (function, block.table, block.segment, 0);
            found.entry(key).or_insert_with(|| Block {
                function,
                ops: ops.iter().map(|o| (self.position(block.table, o.frame), o.ops)).collect(),
            });
            *counts.entry((contexts.id_of[block.context.index()], key)).or_default() += block.executions;
        }
        let ids: BTreeMap<_, BlockId> = found.keys().enumerate().map(|(i, k)| (*k, BlockId(i as u32))).collect();
        let mut counts: Vec<BlockCount> = counts
            .into_iter()
            .map(|((context, key), executions)| BlockCount { context, block: ids[&key], executions })
            .collect();
        counts.sort_by_key(|c| (c.context, c.block));
        Blocks { list: found.into_values().collect(), counts }
    }

    /// In the values model an instruction counts when it has a tracked operand, so that each is a block of its own.
    fn instruction_blocks(
        &self,
        block: &MergedBlock,
        contexts: &Contexts,
        found: &mut BTreeMap<BlockKey, Block>,
        counts: &mut BTreeMap<(ContextId, BlockKey), u64>,
    ) {
        let table = self.measured.table(block.table);
        let segment = &table.segments[block.segment as usize];
        let items = &table.items[segment.items.start as usize..segment.items.end as usize];
        for (number, (item, cell)) in (1..).zip(items.iter().zip(&block.cells)) {
            let is_instruction = access_kind(item, segment.kind) == Some(AccessKind::Instruction);
            let Some(op) = ValueOp::from_number(item.flags).filter(|_| is_instruction && cell.executions > 0) else {
                continue;
            };
            let function = self.function_ids[&linked_key(table, segment.function)];
            let key = (function, block.table, block.segment, number);
            let mut ops = [0; OP_CLASSES];
            ops[op.class() as usize] = 1;
            let position = self.position(block.table, item.frame);
            found.entry(key).or_insert_with(|| Block { function, ops: vec![(position, ops)] });
            *counts.entry((contexts.id_of[block.context.index()], key)).or_default() += cell.executions;
        }
    }
}
