//! Fills segments: which words a record has, and which of them an address needs.
//!
//! Takes accesses or steps in program order, gives the segments of a [`FunctionPlan`]. Addresses whose variable parts
//! are equal share a word.

use std::collections::HashMap;

use dmdprof_abi::{Call, Item, ItemKind, NONE, OpCount, SegmentKind, Slot, item_flag, loop_flag, marker, segment_flag};

use crate::{
    address::{Shape, decompose},
    affine::{Counter, SelfLoop, Step},
    calls::{Model, When},
    frames::DebugInfo,
    function_plan::{Anchor, CallHook, FunctionPlan, PlannedItem, PlannedLoop, Segment, Word},
    lanes::Places,
    llvm::ir::{Layout, Value},
};

/// The segment being filled.
#[derive(Default)]
pub struct OpenSegment<'m> {
    pub flags: u8,
    pub words: Vec<Word<'m>>,
    word_index: HashMap<Word<'m>, u16>,
    /// Address shapes that already have a word: index and the constant offset of the word's own address.
    shapes: HashMap<Shape<'m>, (u16, i64)>,
    pub items: Vec<PlannedItem>,
    pub ops: Vec<OpCount>,
    pub frame: Option<u32>,
    /// Variables on the stack whose lives start in it; their segment is this one.
    pub slots: Vec<Slot>,
    /// An iteration of the block's loop begins with it.
    pub iteration: bool,
    /// That control is here must be known.
    pub announced: bool,
}

impl<'m> OpenSegment<'m> {
    /// Adds an item of which nothing else is known.
    pub fn push(&mut self, item: Item) {
        self.items.push(item.into());
    }

    fn says_nothing(&self) -> bool {
        let no_effects = self.items.is_empty() && self.ops.is_empty() && self.slots.is_empty();
        no_effects && self.flags == 0 && !self.iteration && !self.announced
    }
}

/// A plan in the making.
pub struct SegmentBuilder<'m> {
    pub layout: Layout<'m>,
    pub plan: FunctionPlan<'m>,
    pub open: OpenSegment<'m>,
    /// Names the loop of the block at hand, where loops are marked: the first item of each of its segments.
    pub loop_mark: Option<Item>,
    /// Number of the innermost loop around the block at hand.
    pub around: Option<u32>,
    /// Records say their time.
    pub clocked: bool,
}

impl<'m> SegmentBuilder<'m> {
    #[must_use]
    pub fn new(layout: Layout<'m>, plan: FunctionPlan<'m>) -> Self {
        Self { layout, plan, open: OpenSegment::default(), loop_mark: None, around: None, clocked: false }
    }

    /// Opens the first segment of a block. The function's entry starts a frame, with an identity if control can land in
    /// it.
    pub fn start_block(&mut self, is_entry: bool, landable: bool) {
        self.open = OpenSegment::default();
        if is_entry {
            self.open.flags |= segment_flag::ENTER;
            if landable {
                self.open.flags |= segment_flag::COOKIE;
            }
        }
    }

    /// The instruction's source position; the first of a segment is the segment's own.
    pub fn frame(&mut self, instruction: Value<'m>, symbol: &str, debug: &mut DebugInfo<'m>) -> u32 {
        let frame = self.plan.frames.intern(instruction.debug_location(), symbol, debug, &mut self.plan.strings);
        if frame != NONE && self.open.frame.is_none() {
            self.open.frame = Some(frame);
        }
        frame
    }

    /// Record index of a word, adding it if it is new. Index 0 is the descriptor's.
    pub fn word(&mut self, word: Word<'m>) -> u16 {
        if let Some(&known) = self.open.word_index.get(&word) {
            return known;
        }
        self.open.words.push(word);
        let index = self.open.words.len() as u16;
        self.open.word_index.insert(word, index);
        index
    }

    /// Record index of the first of the addresses of lanes, one word each.
    pub fn lanes(&mut self, places: Places<'m>, lanes: u16) -> u16 {
        let first = self.open.words.len() as u16 + 1;
        for lane in 0..u32::from(lanes) {
            // Lanes must be consecutive, so they are not shared with earlier words.
            self.open.words.push(Word::Lane(places, lane));
        }
        first
    }

    /// Word and offset that give an address.
    pub fn address(&mut self, address: Value<'m>) -> (u16, i64) {
        let (shape, constant) = decompose(self.layout, address);
        if let Some(&(word, own)) = self.open.shapes.get(&shape) {
            return (word, constant.wrapping_sub(own));
        }
        let (value, own) = if shape.terms.is_empty() { (shape.root, 0) } else { (address, constant) };
        let word = self.word(Word::Value(value));
        self.open.shapes.insert(shape, (word, own));
        (word, constant.wrapping_sub(own))
    }

    /// Names a call site and plans the hook of its model.
    pub fn call_hook(&mut self, call: Value<'m>, model: Model, frame: u32) {
        let anchor = if model.when == When::Before { Anchor::Before(call) } else { Anchor::After(call) };
        self.call_hook_at(anchor, call, model, frame);
    }

    /// Names a call site and plans the hook of its model at `anchor`; `call` has the operands.
    pub fn call_hook_at(&mut self, anchor: Anchor<'m>, call: Value<'m>, model: Model, frame: u32) {
        let site = Item { kind: ItemKind::Load as u8, flags: item_flag::DYNAMIC, frame, ..Item::default() };
        // Whether a program declares regions and inputs must be known before it comes to them.
        let callee = match model.call {
            Call::RegionBegin => self.plan.strings.intern(marker::BEGIN),
            Call::Input => self.plan.strings.intern(marker::INPUT),
            _ => NONE,
        };
        self.plan.segments.push(Segment {
            kind: SegmentKind::CallSite,
            flags: 0,
            words: Vec::new(),
            items: vec![site.into()],
            ops: Vec::new(),
            callee,
            frame,
            around: self.around,
            before: None,
            looped: None,
        });
        let segment = self.plan.segments.len() - 1;
        self.plan.call_hooks.push(CallHook {
            anchor,
            instruction: call,
            call: model.call,
            operands: model.operands,
            segment,
        });
    }

    /// Ends the open segment: its record, if it has anything to say, goes before `end`.
    pub fn close(&mut self, end: Value<'m>, extra_flags: u8, callee: u32) {
        let mut open = std::mem::take(&mut self.open);
        open.flags |= extra_flags;
        if open.says_nothing() && callee == NONE {
            return;
        }
        if let Some(mark) = &self.loop_mark {
            let flags = if open.iteration { loop_flag::ITERATION } else { 0 };
            open.items.insert(0, Item { flags, ..*mark }.into());
        }
        if self.clocked {
            open.words.push(Word::Clock);
        }
        if open.flags & (segment_flag::COOKIE | segment_flag::LANDING) != 0 {
            open.words.push(Word::Cookie);
        }
        let segment = self.plan.segments.len() as u32;
        self.plan.slots.extend(open.slots.iter().map(|slot| Slot { segment, ..*slot }));
        self.plan.segments.push(Segment {
            kind: SegmentKind::Block,
            flags: open.flags,
            words: open.words,
            items: open.items,
            ops: open.ops,
            callee,
            frame: open.frame.unwrap_or(NONE),
            around: self.around,
            before: Some(end),
            looped: None,
        });
    }

    /// Ends the open segment, whose words advance by `steps` in each iteration of a loop: one record for all
    /// iterations, written when the loop has ended.
    pub fn close_loop(&mut self, looped: SelfLoop<'m>, counter: Counter<'m>, steps: &[Step<'m>]) {
        let open = std::mem::take(&mut self.open);
        // Words: the iterations, the addresses, then the steps that are not constant.
        let mut words = vec![Word::Count];
        words.extend(open.words.iter().map(|word| match *word {
            Word::Value(address) => Word::Next(address),
            other => other,
        }));
        let mut variable: Vec<Step> = Vec::new();
        let items = open.items.into_iter().map(|PlannedItem { item, note, align }| {
            let step = &steps[usize::from(item.word) - 1];
            let Some(stride) = step.as_constant() else {
                let known = variable.iter().position(|s| s == step).unwrap_or_else(|| {
                    variable.push(step.clone());
                    variable.len() - 1
                });
                let word2 = (words.len() + 1 + known) as u16;
                let flags = item.flags | item_flag::STRIDE_WORD;
                return PlannedItem { item: Item { word: item.word + 1, word2, flags, ..item }, note, align };
            };
            PlannedItem { item: Item { word: item.word + 1, stride, ..item }, note, align }
        });
        let items: Vec<PlannedItem> = items.collect();
        words.extend((0..variable.len() as u16).map(Word::Step));
        words.extend(self.clocked.then_some(Word::Clock));
        self.plan.segments.push(Segment {
            kind: SegmentKind::Loop,
            flags: 0,
            words,
            items,
            ops: open.ops,
            callee: NONE,
            frame: open.frame.unwrap_or(NONE),
            around: self.around,
            before: looped.exit.first_after_phis(),
            looped: Some(PlannedLoop { looped, counter, steps: variable }),
        });
    }
}
