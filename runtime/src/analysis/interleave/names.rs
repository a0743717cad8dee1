//! What a ring's numbers stand for, while the ring is still being analysed.

use crate::{
    analysis::analyzer::Analyzer,
    counts::keys::{FunctionKey, SiteKey},
    decode::locator::{FunctionNumber, SegmentNumber, function_key, function_of, segment_key},
    engine::AccessTag,
};

/// The names of a ring.
pub struct RingNames<'a>(pub &'a Analyzer);

impl RingNames<'_> {
    /// The outermost function that was called first.
    fn first(&self) -> Option<FunctionNumber> {
        self.0.core.calls.contexts.nodes.get(1)?.function
    }

    /// The same, in the numbers of its table.
    pub fn first_function(&self) -> Option<FunctionKey> {
        function_key(&self.0.locator.modules, self.first()?)
    }

    /// Its name.
    pub fn first_name(&self) -> Option<String> {
        let (module, number) = function_of(&self.0.locator.modules, self.first()?)?;
        let table = &module.placed.table;
        let function = table.functions.get(number)?;
        table.strings.get(function.name as usize).cloned()
    }

    /// A segment in the numbers of its table.
    pub fn segment_key(&self, segment: SegmentNumber) -> Option<(u32, u32)> {
        segment_key(&self.0.locator.modules, segment)
    }

    /// The site of an access that counts.
    pub fn site_key(&self, label: AccessTag) -> Option<SiteKey> {
        let (segment, item) = self.0.core.charging.counters.table.site(label.cell())?;
        let (table, segment) = self.segment_key(segment)?;
        Some((table, segment, item))
    }
}
