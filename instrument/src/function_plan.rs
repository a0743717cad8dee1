//! What is planned for one function: segments with their words and items, and hooks of calls.

use std::collections::{BTreeMap, BTreeSet};

use dmdprof_abi::{self as abi, Call, Item, NONE, OpCount, SegmentKind, Slot};

use crate::{
    affine::{Counter, SelfLoop, Step},
    calls::Operand,
    frames::{DebugInfo, FrameTable, StringTable},
    lanes::{Mask, Places},
    llvm::ir::{Block, Value},
    skip::SkipReason,
    types::Spot,
};

/// A word of a record, as the emitter will compute it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Word<'m> {
    /// Pointer, integer (zero-extended) or vector of bits.
    Value(Value<'m>),
    /// The address of a lane.
    Lane(Places<'m>, u32),
    /// The address of a lane, or 0 if the lane does not take part.
    LaneIf(Places<'m>, Mask<'m>, u32),
    /// A bit per lane.
    Mask(Mask<'m>),
    /// Identifies the frame of the running function.
    Cookie,
    /// Number of the edge by which control came to a block, as its first phi lists them.
    Predecessor(Block<'m>),
    /// Iterations of the loop that has ended.
    Count,
    /// What an address would be in the iteration after the loop's last one.
    Next(Value<'m>),
    /// By index: a step of the loop that is not constant.
    Step(u16),
    /// Loads and stores of the thread before the segment.
    Clock,
}

/// An item of a descriptor, and what is said of it elsewhere.
#[derive(Clone, Debug)]
pub struct PlannedItem {
    /// Its kind is a `StepKind` in a plan for the values model.
    pub item: Item,
    pub note: ItemNote,
    /// Its address is a multiple of this.
    pub align: u64,
}

impl From<Item> for PlannedItem {
    fn from(item: Item) -> Self {
        Self { item, note: ItemNote::default(), align: 1 }
    }
}

/// What is known of an access without running it: index of its field, number of the innermost loop in whose iterations
/// its address is the same, and whether the address depends on data that the innermost loop around it loads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ItemNote {
    pub field: Option<u32>,
    pub same: Option<u32>,
    pub is_irregular: bool,
}

#[derive(Clone, Debug)]
pub struct Segment<'m> {
    pub kind: SegmentKind,
    pub flags: u8,
    /// Words after the descriptor's.
    pub words: Vec<Word<'m>>,
    pub items: Vec<PlannedItem>,
    pub ops: Vec<OpCount>,
    /// String of the callee, or [`NONE`].
    pub callee: u32,
    pub frame: u32,
    /// Number of the innermost loop that it is in.
    pub around: Option<u32>,
    /// The record is written before this instruction; `None` for call sites, which are only named by events.
    pub before: Option<Value<'m>>,
    /// Of a loop segment.
    pub looped: Option<PlannedLoop<'m>>,
}

/// What the emitter needs to write one record for all iterations of a loop.
#[derive(Clone, Debug)]
pub struct PlannedLoop<'m> {
    pub looped: SelfLoop<'m>,
    pub counter: Counter<'m>,
    pub steps: Vec<Step<'m>>,
}

/// Where a hook call goes.
#[derive(Clone, Copy, Debug)]
pub enum Anchor<'m> {
    Before(Value<'m>),
    /// After a call; for an invoke, at the start of its normal destination (which has no other predecessor).
    After(Value<'m>),
}

/// A call of the hooks for a modelled library call.
#[derive(Clone, Debug)]
pub struct CallHook<'m> {
    pub anchor: Anchor<'m>,
    pub instruction: Value<'m>,
    pub call: Call,
    pub operands: &'static [Operand],
    /// Index of the call-site segment.
    pub segment: usize,
}

#[derive(Default)]
pub struct FunctionPlan<'m> {
    pub segments: Vec<Segment<'m>>,
    pub call_hooks: Vec<CallHook<'m>>,
    /// Calls that return twice: the `LANDED` hook runs right after each.
    pub landings: Vec<Value<'m>>,
    pub skips: BTreeMap<SkipReason, u32>,
    /// Variables on the stack, by segment.
    pub slots: Vec<Slot>,
    pub loops: Vec<abi::Loop>,
    /// Calls by name and loop, of functions with loops.
    pub calls: BTreeSet<(u32, u32)>,
    pub fields: Vec<abi::Field>,
    pub frames: FrameTable<'m>,
    pub strings: StringTable,
    pub name: u32,
    pub file: u32,
    pub line: u32,
}

impl<'m> FunctionPlan<'m> {
    /// A plan that says which function it is for and nothing else.
    pub fn named(function: Value<'m>, debug: &mut DebugInfo<'m>) -> Self {
        let mut plan = Self::default();
        plan.name = plan.strings.intern(&function.name());
        let definition = function.subprogram().and_then(|s| debug.subprogram(s));
        plan.file = definition.as_ref().and_then(|d| d.file()).map_or(NONE, |f| plan.strings.intern(f));
        plan.line = definition.as_ref().map_or(0, |d| d.line());
        plan
    }

    /// Index of a field; `None` for types of more than 4 GiB.
    pub fn field(&mut self, spot: &Spot<'m>) -> Option<u32> {
        let field = abi::Field {
            type_name: self.strings.intern(&spot.type_name),
            type_size: spot.type_size.try_into().ok()?,
            name: self.strings.intern(&spot.field),
            offset: spot.offset.try_into().ok()?,
            size: spot.size.try_into().ok()?,
        };
        let known = self.fields.iter().position(|known| *known == field);
        Some(known.unwrap_or_else(|| {
            self.fields.push(field);
            self.fields.len() - 1
        }) as u32)
    }
}
