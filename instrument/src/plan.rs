//! Plans the hooks of one function without changing it: which records, with which words, before which instruction.
//!
//! A segment is the part of a basic block between two calls. Its record is written at its end, where every address is
//! known, and describes its accesses in program order.

use dmdprof_abi::{
    self as abi, FLOAT_TYPES, Item, ItemKind, MAX_RECORD_WORDS, MAX_SEGMENT_ITEMS, NONE, OP_CLASSES, OpClass, OpCount,
    Slot, item_flag, segment_flag,
};

use crate::{
    access::{Access, Length, blocks},
    affine::{SelfLoop, Step, Steps},
    calls,
    classify::{CallEffect, Classifier, Effect, Unseen, float_type, operations},
    fields::Fields,
    frames::DebugInfo,
    function_plan::{Anchor, FunctionPlan, ItemNote, PlannedItem, Word},
    llvm::ir::{Block, Metadata, Opcode, TypeKind, Value},
    loops::{Loop, Loops},
    segment::SegmentBuilder,
    skip::SkipReason,
    slots::{StackVariables, is_marked},
    synchronise::{self, Ordered},
};

/// What hooks tell of loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopForm {
    /// A record per iteration and segment.
    PerIteration,
    /// One record for all iterations where that is possible.
    OneRecord,
    /// A record per iteration and segment, and marks where iterations begin.
    Marked,
}

/// Plans a function for the memory model.
pub fn plan_function<'m>(
    function: Value<'m>,
    classifier: &Classifier<'m>,
    debug: &mut DebugInfo<'m>,
    form: LoopForm,
    is_team_part: bool,
    clocked: bool,
) -> FunctionPlan<'m> {
    let symbol = function.name();
    let mut plan = FunctionPlan::named(function, debug);
    let blocks = function.blocks();
    let landable = blocks.iter().any(|b| is_landable(*b, classifier));
    let exit_kills = exit_kills(function, &blocks, classifier, &mut plan);
    let variables = StackVariables::from_function(function, classifier, debug);
    let out = SegmentBuilder { clocked, ..SegmentBuilder::new(classifier.layout, plan) };
    let own = function.subprogram();
    let loops = if form == LoopForm::Marked || own.is_some() { Loops::find(function) } else { Loops::default() };
    let fields = Fields::from_function(function, debug);
    let mut planner = Planner {
        classifier,
        debug,
        symbol: &symbol,
        own,
        out,
        landable,
        exit_kills,
        variables,
        form,
        loops,
        fields,
        is_team_part,
    };
    planner.place_loops();
    for (index, block) in blocks.into_iter().enumerate() {
        planner.block(function, block, index == 0);
    }
    planner.out.plan
}

/// Lanes of what a load or store of a vector moves, else 0.
fn lanes(instruction: Value<'_>) -> u16 {
    let moved = match instruction.opcode() {
        Opcode::Load => instruction.ty(),
        Opcode::Store => instruction.operand(0).ty(),
        _ => return 0,
    };
    moved.vector().map_or(0, |(_, lanes)| lanes.min(u32::from(u16::MAX)) as u16)
}

/// Whether control can arrive in this block's function by unwinding or `longjmp`.
pub fn is_landable<'m>(block: Block<'m>, classifier: &Classifier<'m>) -> bool {
    block.instructions().into_iter().any(|i| match i.opcode() {
        Opcode::LandingPad => true,
        Opcode::Call | Opcode::Invoke => i.call_has_attribute(classifier.attributes.returns_twice),
        _ => false,
    })
}

/// Whether the iterations of a loop of one block can be one record, as far as its instructions tell.
pub fn may_loop<'m>(block: Block<'m>, classifier: &Classifier<'m>) -> bool {
    !block.instructions().into_iter().any(|i| matches!(classifier.effect(i), Effect::Call(_) | Effect::Unseen(_)))
}

/// Stack slots that die when the function returns and not earlier by a scope end of their own, and `byval` parameters.
fn exit_kills<'m>(
    function: Value<'m>,
    blocks: &[Block<'m>],
    classifier: &Classifier<'m>,
    plan: &mut FunctionPlan<'m>,
) -> Vec<(Value<'m>, u64)> {
    let has_scope_end = |slot| is_marked(slot, "llvm.lifetime.end");
    let mut kills = Vec::new();
    for (index, block) in blocks.iter().enumerate() {
        for slot in block.instructions().into_iter().filter(|i| i.opcode() == Opcode::Alloca) {
            match classifier.slot_size(slot) {
                Some(size) if index == 0 && !has_scope_end(slot) => kills.push((slot, size)),
                Some(_) if index == 0 => {}
                _ => *plan.skips.entry(SkipReason::VariableLengthArrayScope).or_default() += 1,
            }
        }
    }
    for (index, parameter) in function.parameters().into_iter().enumerate() {
        if let Some(ty) = function.parameter_byval(index as u32, classifier.attributes.byval) {
            kills.push((parameter, classifier.layout.store_size(ty)));
        }
    }
    kills
}

struct Planner<'a, 'm> {
    classifier: &'a Classifier<'m>,
    debug: &'a mut DebugInfo<'m>,
    symbol: &'a str,
    /// The function's own debug node.
    own: Option<Metadata<'m>>,
    out: SegmentBuilder<'m>,
    landable: bool,
    exit_kills: Vec<(Value<'m>, u64)>,
    variables: StackVariables<'m>,
    form: LoopForm,
    /// None without debug information, unless they are to be marked.
    loops: Loops<'m>,
    fields: Fields<'m>,
    /// The function is what the threads of an OpenMP team run.
    is_team_part: bool,
}

impl<'m> Planner<'_, 'm> {
    fn block(&mut self, function: Value<'m>, block: Block<'m>, is_entry: bool) {
        self.out.start_block(is_entry, self.landable);
        self.out.around = self.loops.around(block);
        let segments = self.out.plan.segments.len();
        self.mark_loop(block);
        if is_entry {
            self.byval_stores(function);
        }
        let instructions = block.instructions();
        if let Some(&first) = instructions.first().filter(|_| is_entry && self.is_team_part) {
            self.out.close(first, 0, NONE);
            self.out.call_hook(first, synchronise::PART_BEGINS, NONE);
        }
        for (position, &instruction) in instructions.iter().enumerate() {
            if instruction.opcode() == Opcode::LandingPad {
                self.out.open.flags |= segment_flag::LANDING;
            }
            let frame = self.out.frame(instruction, self.symbol, self.debug);
            self.count_operations(instruction, frame);
            if let Some(slot) = self.starts(instruction) {
                // Lives start before all accesses of their segment; what ends in it may have had the same place.
                if self.out.open.items.iter().any(|planned| planned.item.kind == ItemKind::Kill as u8) {
                    self.out.close(instruction, 0, NONE);
                }
                self.make_room(0, instruction);
                self.slot(slot);
            }
            self.fence(instruction, frame);
            let effect = self.classifier.effect(instruction);
            let closed_by_call = matches!(effect, Effect::Call(_) | Effect::Unseen(_));
            match effect {
                Effect::Nothing => {}
                Effect::Skip(reason) => *self.out.plan.skips.entry(reason).or_default() += 1,
                Effect::Accesses(accesses) => {
                    let ordered = self.ordered(instruction);
                    if let Some(after) = ordered.after {
                        // What was released comes before the access itself, too.
                        self.out.close(instruction, 0, NONE);
                        self.out.call_hook(instruction, after, frame);
                    }
                    self.accesses(accesses, frame, instruction);
                    if let Some(before) = ordered.before {
                        if ordered.after.is_none() {
                            self.out.close(instruction, 0, NONE);
                        }
                        self.out.call_hook(instruction, before, frame);
                    }
                }
                Effect::Unseen(Unseen { accesses, reason, name }) => {
                    self.accesses(accesses, frame, instruction);
                    *self.out.plan.skips.entry(reason).or_default() += 1;
                    let name = self.out.plan.strings.intern(&name);
                    self.out.close(instruction, 0, name);
                }
                Effect::Call(effect) => self.call(instruction, &effect, frame),
            }
            if position + 1 == instructions.len() && !closed_by_call {
                let whole = self.form == LoopForm::OneRecord && self.out.plan.segments.len() == segments;
                if !(whole && SelfLoop::from_block(block).is_some_and(|looped| self.looped(looped))) {
                    self.terminator(instruction);
                }
            }
        }
    }

    /// Where a fence acquires, what the loads before it have seen was released comes first.
    fn fence(&mut self, instruction: Value<'m>, frame: u32) {
        if instruction.opcode() != Opcode::Fence || self.form == LoopForm::Marked {
            return;
        }
        for load in synchronise::acquired_by(instruction) {
            self.out.close(instruction, 0, NONE);
            self.out.call_hook_at(Anchor::Before(instruction), load, synchronise::LOADED, frame);
        }
    }

    /// How an access orders threads. Marked loops are those of one thread.
    fn ordered(&self, instruction: Value<'m>) -> Ordered {
        if self.form == LoopForm::Marked { Ordered::default() } else { synchronise::ordered(instruction) }
    }

    /// The variable whose life starts here: where its slot is made, or at a marker.
    fn starts(&self, instruction: Value<'m>) -> Option<Value<'m>> {
        match instruction.opcode() {
            Opcode::Alloca => self.variables.get(instruction).filter(|v| !v.has_scope).map(|_| instruction),
            Opcode::Call => {
                let name = instruction.callee().intrinsic_name()?;
                // Newer LLVM passes only the pointer, older ones a size before it.
                name.starts_with("llvm.lifetime.start").then(|| instruction.operand(instruction.arguments() - 1))
            }
            _ => None,
        }
    }

    /// Announces a variable in the open segment.
    fn slot(&mut self, slot: Value<'m>) {
        let Some(known) = self.variables.get(slot).cloned() else { return };
        let (word, offset) = self.out.address(slot);
        let strings = &mut self.out.plan.strings;
        let variable = known.variable.as_ref();
        let inlined = variable.filter(|v| v.subprogram.is_some() && v.subprogram != self.own);
        let function = inlined.and_then(|v| v.function.as_deref()).unwrap_or(self.symbol);
        self.out.open.slots.push(Slot {
            size: known.size as u32,
            name: variable.map_or(NONE, |v| strings.intern(&v.name)),
            function: strings.intern(function),
            file: variable.and_then(|v| v.file.as_deref()).map_or(NONE, |file| strings.intern(file)),
            line: variable.map_or(0, |v| v.line),
            offset,
            word,
            ..Slot::default()
        });
    }

    /// Says where the loops are.
    fn place_loops(&mut self) {
        for Loop { parent, location, .. } in self.loops.loops.clone() {
            let frame = self.out.plan.frames.intern(location, self.symbol, self.debug, &mut self.out.plan.strings);
            self.out.plan.loops.push(abi::Loop { parent: parent.unwrap_or(NONE), frame });
        }
    }

    /// Has the block's segments mark its loop, if loops are to be marked.
    fn mark_loop(&mut self, block: Block<'m>) {
        self.out.loop_mark = None;
        if self.form != LoopForm::Marked {
            return;
        }
        // What is called next may have no record of this function before it.
        self.out.open.announced = self.loops.is_exit(block);
        let Some(number) = self.loops.around(block) else { return };
        let abi::Loop { parent, frame } = self.out.plan.loops[number as usize];
        self.out.loop_mark = Some(Item {
            kind: ItemKind::Loop as u8,
            size: number,
            frame,
            offset: if parent == NONE { -1 } else { parent.into() },
            ..Item::default()
        });
        self.out.open.iteration = self.loops.is_header(number, block);
    }

    /// What the caller's copy of a `byval` argument put on the stack.
    fn byval_stores(&mut self, function: Value<'m>) {
        for (index, parameter) in function.parameters().into_iter().enumerate() {
            if self.variables.get(parameter).is_some() {
                self.slot(parameter);
            }
            if let Some(ty) = function.parameter_byval(index as u32, self.classifier.attributes.byval) {
                for access in blocks(ItemKind::Store, parameter, self.classifier.layout.store_size(ty)) {
                    self.item(&access, NONE, None);
                }
            }
        }
    }

    fn count_operations(&mut self, instruction: Value<'m>, frame: u32) {
        let Some((class, count)) = operations(instruction) else { return };
        let key = self.out.plan.frames.frames.get(frame as usize).map(|f| (f.parent, f.function, f.file, f.line));
        let same_line = |other: u32| {
            other == frame
                || self.out.plan.frames.frames.get(other as usize).map(|f| (f.parent, f.function, f.file, f.line))
                    == key
        };
        let entry = match self.out.open.ops.iter().position(|entry| same_line(entry.frame)) {
            Some(known) => &mut self.out.open.ops[known],
            None => {
                self.out.open.ops.push(OpCount { frame, ops: [0; OP_CLASSES], flops: [0; FLOAT_TYPES] });
                self.out.open.ops.last_mut().expect("just pushed")
            }
        };
        entry.ops[class as usize] += count;
        if let Some(float) = float_type(instruction, class) {
            entry.flops[float as usize] += if class == OpClass::FpFma { 2 * count } else { count };
        }
    }

    fn accesses(&mut self, accesses: Vec<Access<'m>>, frame: u32, instruction: Value<'m>) {
        for mut access in accesses {
            if self.form == LoopForm::Marked {
                access.lanes = access.lanes.max(lanes(instruction));
            }
            self.access(&access, frame, instruction);
        }
    }

    /// Adds an access.
    fn access(&mut self, access: &Access<'m>, frame: u32, instruction: Value<'m>) {
        self.make_room(access.lanes, instruction);
        self.item(access, frame, Some(instruction.block()));
        let is_plain = matches!(access.kind, ItemKind::Load | ItemKind::Store) && access.offset == 0;
        if let Some(planned) = self.out.open.items.last_mut().filter(|_| is_plain) {
            planned.align = instruction.alignment();
        }
    }

    /// Closes the segment if an access of this many lanes would make it too large.
    fn make_room(&mut self, lanes: u16, instruction: Value<'m>) {
        let new_words = usize::from(lanes) + 3;
        if self.out.open.items.len() >= MAX_SEGMENT_ITEMS
            || self.out.open.words.len() + new_words + 3 > MAX_RECORD_WORDS
        {
            self.out.close(instruction, 0, NONE);
        }
    }

    /// What is known of an access in a block, if it has one address.
    fn note(&mut self, access: &Access<'m>, block: Block<'m>) -> ItemNote {
        let is_plain = matches!(access.kind, ItemKind::Load | ItemKind::Store | ItemKind::Update);
        let Length::Fixed(size) = access.length else { return ItemNote::default() };
        if !is_plain {
            return ItemNote::default();
        }
        let spot = (access.offset == 0)
            .then(|| self.fields.spot(access.address, size, self.classifier.layout, self.debug))
            .flatten();
        let field = spot.and_then(|spot| self.out.plan.field(&spot));
        ItemNote {
            field,
            same: self.loops.same(access.address, block),
            is_irregular: self.loops.is_irregular(access.address, block),
        }
    }

    fn item(&mut self, access: &Access<'m>, frame: u32, block: Option<Block<'m>>) {
        let note = block.map_or_else(ItemNote::default, |block| self.note(access, block));
        let mut flags = access.flags;
        let (word, offset) = match access.places {
            Some(places) => (self.out.lanes(places, access.lanes), 0),
            None => self.out.address(access.address),
        };
        // The item has one offset, which belongs to the destination: a copy's source is an exact word of its own.
        let second = access.source.map(Word::Value).or(access.mask.map(Word::Mask));
        let mut word2 = second.map_or(0, |second| self.out.word(second));
        let mut lanes = access.lanes;
        let size = match access.length {
            Length::Fixed(size) => size as u32,
            Length::Dynamic(length) => {
                flags |= item_flag::DYNAMIC;
                let length = self.out.word(Word::Value(length));
                if access.kind == ItemKind::Copy {
                    lanes = length;
                } else {
                    word2 = length;
                }
                0
            }
        };
        let offset = offset.wrapping_add(access.offset);
        self.out.open.items.push(PlannedItem {
            note,
            align: 1,
            item: Item { kind: access.kind as u8, flags, word, word2, lanes, size, frame, offset, ..Item::default() },
        });
    }

    fn call(&mut self, call: Value<'m>, effect: &CallEffect<'m>, frame: u32) {
        let target = call.callee();
        if !self.loops.loops.is_empty() && self.own.is_some() && target.is_function() {
            let callee = self.out.plan.strings.intern(&target.name());
            self.out.plan.calls.insert((callee, self.out.around.unwrap_or(NONE)));
        }
        for read in &effect.argument_reads {
            self.access(read, frame, call);
        }
        let constant = |index| (index < call.arguments()).then(|| call.operand(index).as_signed_constant()).flatten();
        if let Some(reason) = effect.external.as_ref().and_then(|name| calls::written_by_others(name, constant)) {
            *self.out.plan.skips.entry(reason).or_default() += 1;
        }
        let callee = match &effect.external {
            Some(name) if effect.model.is_none() => self.out.plan.strings.intern(name),
            _ => NONE,
        };
        // Nothing may stand between a `musttail` call and its return, so the frame ends before the call.
        let exits = if call.is_must_tail() { segment_flag::EXIT } else { 0 };
        self.out.close(call, exits, callee);
        if let Some(model) = effect.model {
            self.out.call_hook(call, model, frame);
        }
        if let Some(name) = effect.external.as_ref().filter(|_| self.form != LoopForm::Marked && !call.is_must_tail()) {
            let has_result = call.ty().kind() != TypeKind::Void;
            for model in synchronise::models_of_call(call, name, has_result) {
                self.out.call_hook(call, model, frame);
            }
        }
        if effect.returns_twice {
            self.out.plan.landings.push(call);
            self.out.open.flags |= segment_flag::LANDING;
        }
    }

    /// Closes the open segment as one record for all iterations, if all its addresses advance by the same steps in
    /// each.
    fn looped(&mut self, looped: SelfLoop<'m>) -> bool {
        let open = &self.out.open;
        let is_plain = |PlannedItem { item, .. }: &PlannedItem| {
            let kinds = [ItemKind::Load, ItemKind::Store, ItemKind::Update];
            kinds.iter().any(|kind| item.kind == *kind as u8) && item.flags & item_flag::DYNAMIC == 0 && item.word2 == 0
        };
        if looped.exit.predecessors() != 1
            || open.flags != 0
            || !open.slots.is_empty()
            || !open.items.iter().all(is_plain)
        {
            return false;
        }
        if open.items.is_empty() && open.ops.is_empty() {
            return false;
        }
        let steps = Steps { looped, layout: self.classifier.layout };
        let of_word = |word: &Word<'m>| match word {
            Word::Value(address) => steps.step_of(*address),
            _ => None,
        };
        let Some(found) = open.words.iter().map(of_word).collect::<Option<Vec<Step>>>() else { return false };
        let counter = looped.counter(self.classifier.layout);
        self.out.close_loop(looped, counter, &found);
        true
    }

    fn terminator(&mut self, terminator: Value<'m>) {
        match terminator.opcode() {
            Opcode::Ret | Opcode::Resume => {
                if follows_must_tail(terminator) {
                    return;
                }
                for (slot, size) in self.exit_kills.clone() {
                    let kill = Access::new(ItemKind::Kill, slot, Length::Fixed(size));
                    self.access(&kill, NONE, terminator);
                }
                self.out.close(terminator, segment_flag::EXIT, NONE);
                if self.is_team_part {
                    self.out.call_hook(terminator, synchronise::PART_ENDS, NONE);
                }
            }
            _ => self.out.close(terminator, 0, NONE),
        }
    }
}

pub fn follows_must_tail(terminator: Value<'_>) -> bool {
    let instructions = terminator.block().instructions();
    instructions.iter().rev().skip(1).take(2).any(|i| i.opcode() == Opcode::Call && i.is_must_tail())
}
