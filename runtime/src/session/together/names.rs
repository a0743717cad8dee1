//! What a ring's numbers stand for, while the ring is still being analysed.

use crate::{
    counts::keys::{FunctionKey, SiteKey},
    decode::locator::Module,
    session::analyzer::Analyzer,
};

impl Analyzer {
    /// The outermost function that was called first.
    pub(super) fn first_function(&self) -> Option<FunctionKey> {
        let node = self.core.contexts.nodes.get(1)?;
        let module = self.locator.modules.iter().rfind(|m| m.first_function <= node.function)?;
        Some((module.placed.id, node.function - module.first_function))
    }

    /// Its name.
    pub(super) fn first_name(&self) -> Option<String> {
        let (id, number) = self.first_function()?;
        let table = &self.locator.modules.iter().find(|m| m.placed.id == id)?.placed.table;
        let function = table.functions.get(number as usize)?;
        table.strings.get(function.name as usize).cloned()
    }

    /// Modules that it has met.
    pub(super) fn modules(&self) -> &[Module] {
        &self.locator.modules
    }

    /// A segment in the numbers of its table.
    pub(super) fn segment_key(&self, segment: u32) -> Option<(u32, u32)> {
        let module = self.locator.modules.iter().rfind(|m| m.first_segment <= segment)?;
        Some((module.placed.id, segment - module.first_segment))
    }

    /// The site of a cell.
    pub(super) fn site_key(&self, cell: u32) -> Option<SiteKey> {
        let whole =
            self.core.objects.as_ref().and_then(|objects| objects.parts().get(cell as usize)).map(|part| part.0);
        let cell = whole.unwrap_or(cell);
        let blocks = &self.core.blocks;
        // Of blocks without items, the next one has the same first cell.
        let block = blocks[..blocks.partition_point(|block| block.first_cell <= cell)].last()?;
        let (table, segment) = self.segment_key(block.segment)?;
        Some((table, segment, cell - block.first_cell))
    }
}
