//! What a ring's numbers stand for, while the ring is still being analysed.

use crate::{
    analysis::analyzer::Analyzer,
    counts::keys::{FunctionKey, SiteKey},
    decode::locator::{FunctionNumber, Module, SegmentNumber, function_key, function_of, segment_key},
    engine::AccessTag,
};

impl Analyzer {
    /// The outermost function that was called first.
    fn first(&self) -> Option<FunctionNumber> {
        self.core.calls.contexts.nodes.get(1)?.function
    }

    /// The same, in the numbers of its table.
    pub(super) fn first_function(&self) -> Option<FunctionKey> {
        function_key(&self.locator.modules, self.first()?)
    }

    /// Its name.
    pub(super) fn first_name(&self) -> Option<String> {
        let (module, number) = function_of(&self.locator.modules, self.first()?)?;
        let table = &module.placed.table;
        let function = table.functions.get(number)?;
        table.strings.get(function.name as usize).cloned()
    }

    /// Modules that it has met.
    pub(super) fn modules(&self) -> &[Module] {
        &self.locator.modules
    }

    /// A segment in the numbers of its table.
    pub(super) fn segment_key(&self, segment: SegmentNumber) -> Option<(u32, u32)> {
        segment_key(&self.locator.modules, segment)
    }

    /// The site of an access that counts.
    pub(super) fn site_key(&self, label: AccessTag) -> Option<SiteKey> {
        let (segment, item) =
            self.core.charging.counters.site(label.cell()).filter(|_| label != AccessTag::UNCOUNTED)?;
        let (table, segment) = self.segment_key(segment)?;
        Some((table, segment, item))
    }
}
