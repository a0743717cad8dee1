//! Plans the hooks of one function for the values model: which values flow where, as steps that the analysis replays.
//!
//! Takes a function as the front end wrote it (with its scalar variables in registers), gives a [`FunctionPlan`] whose items are
//! [`StepKind`]s. A record carries only what is not static: addresses, the edge by which control came to a block with phis,
//! the conditions of selects. What cannot be followed is counted by name, here as a skip or at run time as a call.

mod operations;
mod registers;

use std::collections::HashMap;

use dmdprof_abi::{
    Call, ItemKind, MAX_RECORD_WORDS, NONE, item_flag, segment_flag,
    steps::{Registers, StepKind, ValueOp},
};

use crate::{
    address::{Shape, decompose},
    calls::{Model, touches_no_memory},
    classify::{Classifier, model_of_call},
    frames::DebugInfo,
    llvm::ir::{Block, Linkage, Opcode, Type, TypeKind, Value},
    plan::{FunctionPlan, ItemNote, PlannedItem, Word, follows_must_tail, is_landable},
    segment::SegmentBuilder,
    skip::SkipReason,
};
use registers::{RegisterFile, slot_of_path, slots};

/// Steps of one segment, about; longer ones are cut so that descriptors stay small enough for 16-bit counts.
const MAX_STEPS: usize = 4096;
/// Words that one instruction may add.
const WORDS_PER_INSTRUCTION: usize = 8;
/// Arguments of a call that are looked at for pointers.
const MAX_POINTERS: u32 = 64;

/// What a call is in the values model.
enum CallKind {
    /// No value goes in or out.
    Nothing,
    /// The first argument, unchanged.
    Pass,
    Op(ValueOp),
    Fma,
    /// Lanes of the last argument combined in order, starting from the first argument if there are two.
    Reduce(ValueOp),
    Copy,
    Fill,
    /// A library call that the hooks report by its meaning.
    Modelled(Model),
    /// Code that may follow values itself, or may not: known when it runs. The name, if there is one.
    Call(Option<String>),
}

/// Plans a function for the values model.
pub fn plan_function<'m>(
    function: Value<'m>,
    classifier: &Classifier<'m>,
    debug: &mut DebugInfo<'m>,
) -> FunctionPlan<'m> {
    let symbol = function.name();
    let plan = FunctionPlan::named(function, debug);
    let blocks = function.blocks();
    let landable = blocks.iter().any(|b| is_landable(*b, classifier));
    let file = RegisterFile::of_function(
        function,
        classifier.layout,
        |i| is_source(i, classifier),
        |i| carried_operands(i, classifier),
    );
    let invokes = blocks
        .iter()
        .filter_map(|b| b.terminator())
        .filter(|t| t.opcode() == Opcode::Invoke)
        .map(|invoke| (invoke.normal_destination(), invoke))
        .collect();
    let out = SegmentBuilder::new(classifier.layout, plan);
    let mut planner = Planner { classifier, debug, symbol: &symbol, out, file, landable, invokes };
    for (index, block) in blocks.into_iter().enumerate() {
        planner.block(function, block, index == 0);
    }
    planner.out.plan
}

fn is_source<'m>(instruction: Value<'m>, classifier: &Classifier<'m>) -> bool {
    match instruction.opcode() {
        Opcode::Load | Opcode::AtomicRMW | Opcode::AtomicCmpXchg => true,
        Opcode::Call | Opcode::Invoke => matches!(call_kind(instruction, classifier), CallKind::Call(_)),
        _ => false,
    }
}

/// Operands whose identities or values an instruction's result depends on.
fn carried_operands<'m>(instruction: Value<'m>, classifier: &Classifier<'m>) -> Vec<Value<'m>> {
    let all = || (0..instruction.operands()).map(|i| instruction.operand(i)).collect();
    match instruction.opcode() {
        Opcode::Phi => instruction.incoming().into_iter().map(|(value, _)| value).collect(),
        Opcode::Select => vec![instruction.operand(1), instruction.operand(2)],
        Opcode::GetElementPtr => vec![instruction.operand(0)],
        Opcode::Freeze
        | Opcode::BitCast
        | Opcode::PtrToInt
        | Opcode::IntToPtr
        | Opcode::AddrSpaceCast
        | Opcode::InsertValue
        | Opcode::ExtractValue
        | Opcode::ShuffleVector => all(),
        Opcode::ExtractElement => vec![instruction.operand(0)],
        Opcode::InsertElement => vec![instruction.operand(0), instruction.operand(1)],
        Opcode::Call => match call_kind(instruction, classifier) {
            CallKind::Pass | CallKind::Op(_) | CallKind::Fma | CallKind::Reduce(_) => arguments(instruction),
            _ => Vec::new(),
        },
        opcode if operations::is_conversion(opcode) || operations::of_instruction(instruction).is_some() => all(),
        _ => Vec::new(),
    }
}

fn arguments<'m>(call: Value<'m>) -> Vec<Value<'m>> {
    (0..call.arguments()).map(|i| call.operand(i)).filter(|a| a.ty().kind() != TypeKind::Metadata).collect()
}

fn call_kind<'m>(call: Value<'m>, classifier: &Classifier<'m>) -> CallKind {
    let callee = call.callee();
    if callee.is_inline_asm() {
        return CallKind::Call(Some("inline assembly".into()));
    }
    if let Some(name) = callee.intrinsic_name() {
        return intrinsic_kind(callee, &name, classifier);
    }
    if !callee.is_function() {
        return CallKind::Call(None);
    }
    let name = callee.name();
    if !callee.is_declaration() {
        return CallKind::Call(Some(name));
    }
    if let Some(op) = operations::of_function(&name) {
        return CallKind::Op(op);
    }
    if let "fma" | "fmaf" | "fmal" = name.as_str() {
        return CallKind::Fma;
    }
    match model_of_call(call, &name) {
        Some(model) => CallKind::Modelled(model),
        None => CallKind::Call(Some(name)),
    }
}

fn intrinsic_kind<'m>(callee: Value<'m>, name: &str, classifier: &Classifier<'m>) -> CallKind {
    let rest = &name["llvm.".len()..];
    if rest.starts_with("memcpy") || rest.starts_with("memmove") {
        return CallKind::Copy;
    }
    if rest.starts_with("memset.") {
        return CallKind::Fill;
    }
    if let "fma" | "fmuladd" = rest.split('.').next().unwrap_or(rest) {
        return CallKind::Fma;
    }
    if let Some(op) = rest.strip_prefix("vector.reduce.").and_then(operations::of_reduction) {
        return CallKind::Reduce(op);
    }
    if let Some(op) = operations::of_intrinsic(rest) {
        return CallKind::Op(op);
    }
    const PASSED: [&str; 6] =
        ["expect", "launder.invariant", "strip.invariant", "ptr.annotation", "annotation", "arithmetic.fence"];
    if PASSED.iter().any(|p| rest.starts_with(p)) {
        return CallKind::Pass;
    }
    const NO_VALUES: [&str; 14] = [
        "dbg.",
        "lifetime.",
        "assume",
        "invariant.",
        "experimental.noalias",
        "va_",
        "stack",
        "prefetch",
        "eh.",
        "objectsize",
        "is.constant",
        "threadlocal",
        "donothing",
        "fake.use",
    ];
    if NO_VALUES.iter().any(|p| rest.starts_with(p)) {
        return CallKind::Nothing;
    }
    if classifier.may_access_memory(callee) {
        CallKind::Call(Some(name.to_owned()))
    } else {
        CallKind::Op(ValueOp::Special)
    }
}

/// Whether an invoke's normal destination has to tell what the call returned, so that it must be a block of its own.
#[must_use]
pub fn needs_own_destination<'m>(invoke: Value<'m>, classifier: &Classifier<'m>) -> bool {
    !matches!(call_kind(invoke, classifier), CallKind::Nothing)
}

struct Planner<'a, 'm> {
    classifier: &'a Classifier<'m>,
    debug: &'a mut DebugInfo<'m>,
    symbol: &'a str,
    out: SegmentBuilder<'m>,
    file: RegisterFile<'m>,
    landable: bool,
    /// Invokes by their normal destinations.
    invokes: HashMap<Block<'m>, Value<'m>>,
}

/// Fields of a step that are not registers.
#[derive(Clone, Copy, Default)]
struct Fields {
    flags: u8,
    word: u16,
    word2: u16,
    lanes: u16,
    size: u32,
}

impl<'m> Planner<'_, 'm> {
    fn block(&mut self, function: Value<'m>, block: Block<'m>, is_entry: bool) {
        self.out.start_block(is_entry, self.landable);
        if is_entry {
            self.parameters(function);
        }
        let instructions = block.instructions();
        self.phis(block, &instructions);
        if let Some(&invoke) = self.invokes.get(&block) {
            self.returned(invoke);
        }
        for (position, &instruction) in instructions.iter().enumerate() {
            if instruction.opcode() == Opcode::LandingPad {
                self.out.open.flags |= segment_flag::LANDING;
            }
            let is_full = self.out.open.items.len() >= MAX_STEPS
                || self.out.open.words.len() + WORDS_PER_INSTRUCTION + 2 > MAX_RECORD_WORDS;
            if is_full && instruction.opcode() != Opcode::Phi {
                self.out.close(instruction, 0, NONE);
            }
            let frame = self.out.frame(instruction, self.symbol, self.debug);
            let ended = self.instruction(instruction, frame);
            if position + 1 == instructions.len() && !ended {
                self.terminator(instruction, frame);
            }
        }
    }

    fn push(&mut self, kind: StepKind, registers: Registers, fields: Fields, frame: u32) {
        let (offset, stride) = registers.packed();
        let Fields { flags, word, word2, lanes, size } = fields;
        self.out.open.items.push(PlannedItem {
            kind: kind as u8,
            flags,
            word,
            word2,
            lanes,
            size,
            frame,
            offset,
            stride,
            note: ItemNote::default(),
        });
    }

    /// A step with an address and one register.
    fn push_access(
        &mut self,
        kind: StepKind,
        address: Value<'m>,
        offset: u64,
        register: u32,
        fields: Fields,
        frame: u32,
    ) {
        let (word, base) = self.out.address(address);
        self.out.open.items.push(PlannedItem {
            kind: kind as u8,
            flags: 0,
            word,
            word2: 0,
            lanes: fields.lanes,
            size: fields.size,
            frame,
            offset: base.wrapping_add(offset as i64),
            stride: i64::from(register),
            note: ItemNote::default(),
        });
    }

    fn skip(&mut self, reason: SkipReason) {
        *self.out.plan.skips.entry(reason).or_default() += 1;
    }

    fn move_to(&mut self, dst: u32, a: u32, frame: u32) {
        if dst != 0 {
            self.push(StepKind::Move, Registers { dst, a, ..Registers::default() }, Fields::default(), frame);
        }
    }

    /// Reads without a result.
    fn escape(&mut self, value: Value<'m>, frame: u32) {
        if !self.file.has(value) {
            return;
        }
        for slot in 0..self.slot_count(value.ty()) {
            let a = self.file.of(value, slot);
            self.push(StepKind::Escape, Registers { a, ..Registers::default() }, Fields::default(), frame);
        }
    }

    fn slot_count(&self, ty: Type<'m>) -> usize {
        slots(self.out.layout, ty).map_or(0, |s| s.len())
    }

    fn parameters(&mut self, function: Value<'m>) {
        let mut index = 0u16;
        for (number, parameter) in function.parameters().into_iter().enumerate() {
            if let Some(ty) = function.parameter_byval(number as u32, self.classifier.attributes.byval) {
                let fields = Fields { lanes: index, size: self.size_of(ty), ..Fields::default() };
                self.push_access(StepKind::BytesParameter, parameter, 0, 0, fields, NONE);
            }
            for slot in 0..self.slot_count(parameter.ty()) {
                let dst = self.file.of(parameter, slot);
                let fields = Fields { lanes: index, ..Fields::default() };
                if dst != 0 {
                    self.push(StepKind::Parameter, Registers { dst, ..Registers::default() }, fields, NONE);
                }
                index += 1;
            }
        }
    }

    fn size_of(&self, ty: Type<'m>) -> u32 {
        u32::try_from(self.out.layout.store_size(ty)).unwrap_or(u32::MAX)
    }

    /// All phis of a block at once, for each edge by which control may come.
    fn phis(&mut self, block: Block<'m>, instructions: &[Value<'m>]) {
        let phis: Vec<Value> = instructions.iter().copied().take_while(|i| i.opcode() == Opcode::Phi).collect();
        let Some(first) = phis.first().filter(|_| phis.iter().any(|p| self.file.has(*p))) else { return };
        let edges = first.incoming();
        let word = self.out.word(Word::Predecessor(block));
        for phi in &phis {
            if !self.file.has(*phi) {
                continue;
            }
            let incoming = phi.incoming();
            for (number, (_, from)) in edges.iter().enumerate() {
                if edges[..number].iter().any(|(_, earlier)| earlier == from) {
                    continue;
                }
                let Some((value, _)) = incoming.iter().find(|(_, b)| b == from) else { continue };
                for slot in 0..self.slot_count(phi.ty()) {
                    let registers =
                        Registers { dst: self.file.of(*phi, slot), a: self.file.of(*value, slot), b: 0, c: 0 };
                    let fields = Fields { word, lanes: number as u16, ..Fields::default() };
                    self.push(StepKind::PhiMove, registers, fields, NONE);
                }
            }
        }
    }

    /// Plans one instruction; whether it ended the block's last segment itself.
    fn instruction(&mut self, i: Value<'m>, frame: u32) -> bool {
        match i.opcode() {
            Opcode::Load => self.load(i, frame),
            Opcode::Store => self.store(i, frame),
            Opcode::AtomicRMW => self.atomic_update(i, frame),
            Opcode::AtomicCmpXchg => self.compare_and_swap(i, frame),
            Opcode::Call | Opcode::Invoke => return self.call(i, frame),
            Opcode::GetElementPtr => self.index(i, frame),
            Opcode::Select => self.select(i, frame),
            Opcode::Freeze | Opcode::PtrToInt | Opcode::IntToPtr | Opcode::AddrSpaceCast => {
                self.pass(i, i.operand(0), frame);
            }
            Opcode::BitCast => self.bitcast(i, frame),
            Opcode::ExtractElement => self.extract_element(i, frame),
            Opcode::InsertElement => self.insert_element(i, frame),
            Opcode::ShuffleVector => self.shuffle(i, frame),
            Opcode::ExtractValue => self.extract_value(i, frame),
            Opcode::InsertValue => self.insert_value(i, frame),
            Opcode::CallBr => self.skip(SkipReason::InlineAssembly),
            Opcode::VAArg => self.skip(SkipReason::VariableArguments),
            opcode if operations::is_conversion(opcode) => self.conversion(i, frame),
            _ => {
                if let Some(op) = operations::of_instruction(i) {
                    let operands: Vec<Value> = (0..i.operands()).map(|n| i.operand(n)).collect();
                    self.operation(i, op, &operands, frame);
                }
            }
        }
        false
    }

    fn load(&mut self, i: Value<'m>, frame: u32) {
        let pointer = i.operand(0);
        self.escape(pointer, frame);
        if !self.is_followed(pointer) {
            return;
        }
        let Some(parts) = slots(self.out.layout, i.ty()) else { return self.skip(SkipReason::WideValue) };
        for (slot, part) in parts.into_iter().enumerate() {
            let fields = Fields { size: part.size, ..Fields::default() };
            self.push_access(StepKind::Load, pointer, part.offset, self.file.of(i, slot), fields, frame);
        }
    }

    fn store(&mut self, i: Value<'m>, frame: u32) {
        let (value, pointer) = (i.operand(0), i.operand(1));
        self.escape(pointer, frame);
        if !self.is_followed(pointer) {
            return;
        }
        match slots(self.out.layout, value.ty()) {
            Some(parts) if self.file.has(value) => {
                for (slot, part) in parts.into_iter().enumerate() {
                    let fields = Fields { size: part.size, ..Fields::default() };
                    self.push_access(StepKind::Store, pointer, part.offset, self.file.of(value, slot), fields, frame);
                }
            }
            known => {
                if known.is_none() {
                    self.skip(SkipReason::WideValue);
                }
                let fields = Fields { size: self.size_of(value.ty()), ..Fields::default() };
                self.push_access(StepKind::Store, pointer, 0, 0, fields, frame);
            }
        }
    }

    /// Whether memory behind this pointer has addresses like everything else.
    fn is_followed(&mut self, pointer: Value<'m>) -> bool {
        let usual = !pointer.ty().is_pointer() || pointer.ty().address_space() == 0;
        if !usual {
            self.skip(SkipReason::AddressSpace);
        }
        usual
    }

    fn atomic_update(&mut self, i: Value<'m>, frame: u32) {
        let (pointer, operand) = (i.operand(0), i.operand(1));
        self.escape(pointer, frame);
        let old = self.file.of(i, 0);
        let size = self.size_of(operand.ty());
        let fields = Fields { size, ..Fields::default() };
        self.push_access(StepKind::Load, pointer, 0, old, fields, frame);
        let new = match operations::of_atomic(i.atomic_operation()) {
            None => self.file.of(operand, 0),
            Some(op) => {
                let dst = self.file.spare(1);
                let registers = Registers { dst, a: old, b: self.file.of(operand, 0), c: 0 };
                self.push(
                    StepKind::Op,
                    registers,
                    Fields { flags: op as u8, lanes: 1, size, ..Fields::default() },
                    frame,
                );
                dst
            }
        };
        self.push_access(StepKind::Store, pointer, 0, new, fields, frame);
    }

    /// The comparison is followed; what is stored is not, as that depends on its outcome.
    fn compare_and_swap(&mut self, i: Value<'m>, frame: u32) {
        let (pointer, expected) = (i.operand(0), i.operand(1));
        self.escape(pointer, frame);
        let fields = Fields { size: self.size_of(expected.ty()), ..Fields::default() };
        let old = self.file.of(i, 0);
        self.push_access(StepKind::Load, pointer, 0, old, fields, frame);
        let registers = Registers { dst: self.file.of(i, 1), a: old, b: self.file.of(expected, 0), c: 0 };
        let op = Fields { flags: ValueOp::Eq as u8, lanes: 1, size: 1, ..Fields::default() };
        self.push(StepKind::Op, registers, op, frame);
        self.push_access(StepKind::Store, pointer, 0, 0, fields, frame);
        self.skip(SkipReason::CompareAndSwap);
    }

    /// Address computation: tracked indices are read, the base's identity travels.
    fn index(&mut self, i: Value<'m>, frame: u32) {
        for position in 1..i.operands() {
            self.escape(i.operand(position), frame);
        }
        if i.operand(0).ty() == i.ty() {
            self.pass(i, i.operand(0), frame);
        }
    }

    fn pass(&mut self, to: Value<'m>, from: Value<'m>, frame: u32) {
        if !self.file.has(to) {
            return;
        }
        for slot in 0..self.slot_count(to.ty()) {
            self.move_to(self.file.of(to, slot), self.file.of(from, slot), frame);
        }
    }

    fn select(&mut self, i: Value<'m>, frame: u32) {
        let condition = i.operand(0);
        self.escape(condition, frame);
        if !self.file.has(i) {
            return;
        }
        let (yes, no) = (i.operand(1), i.operand(2));
        if condition.ty().lanes() > 64 {
            return self.skip(SkipReason::WideMask);
        }
        let word = self.out.word(Word::Value(condition));
        let per_lane = condition.ty().vector().is_some();
        for slot in 0..self.slot_count(i.ty()) {
            let registers =
                Registers { dst: self.file.of(i, slot), a: self.file.of(yes, slot), b: self.file.of(no, slot), c: 0 };
            let lanes = if per_lane { slot as u16 } else { 0 };
            self.push(StepKind::Select, registers, Fields { word, lanes, ..Fields::default() }, frame);
        }
    }

    fn bitcast(&mut self, i: Value<'m>, frame: u32) {
        let from = i.operand(0);
        let (Some(source), Some(target)) = (slots(self.out.layout, from.ty()), slots(self.out.layout, i.ty())) else {
            return;
        };
        if !self.file.has(i) {
            return;
        }
        if source.len() == target.len() {
            return self.pass(i, from, frame);
        }
        let mut whole = self.file.of(from, 0);
        for (slot, part) in source.iter().enumerate().skip(1) {
            let dst = self.file.spare(1);
            let registers = Registers { dst, a: whole, b: self.file.of(from, slot), c: 0 };
            let fields = Fields { size: part.offset as u32, lanes: part.size as u16, ..Fields::default() };
            self.push(StepKind::Join, registers, fields, frame);
            whole = dst;
        }
        if let [_] = target[..] {
            return self.move_to(self.file.of(i, 0), whole, frame);
        }
        for (slot, part) in target.iter().enumerate() {
            let registers = Registers { dst: self.file.of(i, slot), a: whole, b: 0, c: 0 };
            let fields = Fields { size: part.size, lanes: part.offset as u16, ..Fields::default() };
            self.push(StepKind::Part, registers, fields, frame);
        }
    }

    fn extract_element(&mut self, i: Value<'m>, frame: u32) {
        let (vector, index) = (i.operand(0), i.operand(1));
        self.escape(index, frame);
        if !self.file.has(i) {
            return;
        }
        let dst = self.file.of(i, 0);
        match index.as_signed_constant() {
            Some(lane) => self.move_to(dst, self.lane_register(vector, lane), frame),
            None => {
                let word = self.out.word(Word::Value(index));
                let lanes = self.slot_count(vector.ty()) as u16;
                let registers = Registers { dst, a: self.file.of(vector, 0), b: 0, c: 0 };
                self.push(StepKind::Pick, registers, Fields { word, lanes, ..Fields::default() }, frame);
            }
        }
    }

    /// Register of a lane, 0 if it is out of range.
    fn lane_register(&self, vector: Value<'m>, lane: i64) -> u32 {
        let count = self.slot_count(vector.ty());
        usize::try_from(lane).ok().filter(|l| *l < count).map_or(0, |l| self.file.of(vector, l))
    }

    fn insert_element(&mut self, i: Value<'m>, frame: u32) {
        let (vector, element, index) = (i.operand(0), i.operand(1), i.operand(2));
        self.escape(index, frame);
        if !self.file.has(i) {
            return;
        }
        self.pass(i, vector, frame);
        match index.as_signed_constant() {
            Some(lane) => self.move_to(self.lane_register(i, lane), self.file.of(element, 0), frame),
            None => {
                let word = self.out.word(Word::Value(index));
                let lanes = self.slot_count(vector.ty()) as u16;
                let registers = Registers { dst: self.file.of(i, 0), a: self.file.of(element, 0), b: 0, c: 0 };
                self.push(StepKind::Put, registers, Fields { word, lanes, ..Fields::default() }, frame);
            }
        }
    }

    fn shuffle(&mut self, i: Value<'m>, frame: u32) {
        if !self.file.has(i) {
            return;
        }
        let (first, second) = (i.operand(0), i.operand(1));
        let split = i64::from(first.ty().lanes());
        for (slot, taken) in i.shuffle_mask().into_iter().enumerate() {
            let a = match taken.map(i64::from) {
                Some(lane) if lane < split => self.lane_register(first, lane),
                Some(lane) => self.lane_register(second, lane - split),
                None => 0,
            };
            self.move_to(self.file.of(i, slot), a, frame);
        }
    }

    fn extract_value(&mut self, i: Value<'m>, frame: u32) {
        let whole = i.operand(0);
        let Some(start) = slot_of_path(self.out.layout, whole.ty(), &i.indices()).filter(|_| self.file.has(i)) else {
            return;
        };
        for slot in 0..self.slot_count(i.ty()) {
            self.move_to(self.file.of(i, slot), self.file.of(whole, start + slot), frame);
        }
    }

    fn insert_value(&mut self, i: Value<'m>, frame: u32) {
        let (whole, part) = (i.operand(0), i.operand(1));
        let Some(start) = slot_of_path(self.out.layout, whole.ty(), &i.indices()).filter(|_| self.file.has(i)) else {
            return;
        };
        self.pass(i, whole, frame);
        for slot in 0..self.slot_count(part.ty()) {
            self.move_to(self.file.of(i, start + slot), self.file.of(part, slot), frame);
        }
    }

    /// One bit is a truth value in any width, and the width of an index is part of the indexing.
    fn conversion(&mut self, i: Value<'m>, frame: u32) {
        let is_bit = |ty: Type| ty.scalar().int_width() == Some(1);
        let is_index = || {
            let users = i.users();
            !users.is_empty() && users.iter().all(|u| u.is_instruction() && u.opcode() == Opcode::GetElementPtr)
        };
        if is_bit(i.ty()) || is_bit(i.operand(0).ty()) || is_index() {
            return self.pass(i, i.operand(0), frame);
        }
        self.lanewise(StepKind::Convert, ValueOp::Convert, i, &[i.operand(0)], frame);
    }

    fn operation(&mut self, i: Value<'m>, op: ValueOp, operands: &[Value<'m>], frame: u32) {
        self.lanewise(StepKind::Op, op, i, operands, frame);
    }

    /// One instruction per lane of the result.
    fn lanewise(&mut self, kind: StepKind, op: ValueOp, i: Value<'m>, operands: &[Value<'m>], frame: u32) {
        if !self.file.has(i) {
            return;
        }
        let Some(parts) = slots(self.out.layout, i.ty()) else { return };
        for (slot, part) in parts.iter().enumerate() {
            // A scalar beside vectors (the exponent of `powi`, a flag) goes with every lane.
            let register = |n: usize| {
                operands.get(n).map_or(0, |o| self.file.of(*o, if self.slot_count(o.ty()) > slot { slot } else { 0 }))
            };
            let registers = Registers { dst: self.file.of(i, slot), a: register(0), b: register(1), c: register(2) };
            let fields = Fields { flags: op as u8, lanes: 1, size: part.size, ..Fields::default() };
            self.push(kind, registers, fields, frame);
        }
    }

    /// A fused multiply-add, and behind it the same as two instructions: the analysis takes one or the other.
    fn fma(&mut self, i: Value<'m>, frame: u32) {
        let Some(parts) = slots(self.out.layout, i.ty()).filter(|_| self.file.has(i)) else { return };
        let operands = arguments(i);
        for (slot, part) in parts.iter().enumerate() {
            let [a, b, c] = [0, 1, 2].map(|n| operands.get(n).map_or(0, |o| self.file.of(*o, slot)));
            let (dst, product) = (self.file.of(i, slot), self.file.spare(1));
            let fields = |op: ValueOp| Fields { flags: op as u8, lanes: 1, size: part.size, ..Fields::default() };
            self.push(StepKind::Fma, Registers { dst, a, b, c }, fields(ValueOp::Fma), frame);
            self.push(StepKind::Op, Registers { dst: product, a, b, c: 0 }, fields(ValueOp::FpMul), frame);
            self.push(StepKind::Op, Registers { dst, a: product, b: c, c: 0 }, fields(ValueOp::FpAdd), frame);
        }
    }

    /// One instruction with two results, which a structure or one register holds.
    fn two_results(&mut self, i: Value<'m>, op: ValueOp, frame: u32) {
        if !self.file.has(i) {
            return;
        }
        let Some(parts) = slots(self.out.layout, i.ty()) else { return };
        let operands = arguments(i);
        let register = |file: &RegisterFile, n: usize| operands.get(n).map_or(0, |o| file.of(*o, 0));
        let (a, b) = (register(&self.file, 0), register(&self.file, 1));
        let flags = op as u8;
        if let [one] = parts[..] {
            // The calling convention packs two halves into one register.
            let half = one.size / 2;
            let dst = self.file.spare(2);
            let fields = Fields { flags, lanes: 2, size: half, word2: half as u16, ..Fields::default() };
            self.push(StepKind::Op, Registers { dst, a, b, c: 0 }, fields, frame);
            let joined = Registers { dst: self.file.of(i, 0), a: dst, b: dst + 1, c: 0 };
            let fields = Fields { size: half, lanes: half as u16, ..Fields::default() };
            return self.push(StepKind::Join, joined, fields, frame);
        }
        let lanes = parts.len() / 2;
        for lane in 0..lanes {
            // Results of vectors with overflow flags lie apart, those of scalars side by side.
            let dst = if lanes == 1 { self.file.of(i, 0) } else { self.file.spare(2) };
            let of = |n: usize| operands.get(n).map_or(0, |o| self.file.of(*o, lane));
            let fields = Fields {
                flags,
                lanes: 2,
                size: parts[lane].size,
                word2: parts[lanes + lane].size as u16,
                ..Fields::default()
            };
            self.push(StepKind::Op, Registers { dst, a: of(0), b: of(1), c: 0 }, fields, frame);
            if lanes > 1 {
                self.move_to(self.file.of(i, lane), dst, frame);
                self.move_to(self.file.of(i, lanes + lane), dst + 1, frame);
            }
        }
    }

    fn reduce(&mut self, i: Value<'m>, op: ValueOp, frame: u32) {
        if !self.file.has(i) {
            return;
        }
        let operands = arguments(i);
        let Some((vector, start)) = operands.split_last() else { return };
        let size = self.size_of(i.ty());
        let mut sum = start.first().map_or(0, |s| self.file.of(*s, 0));
        let lanes = self.slot_count(vector.ty());
        for lane in 0..lanes {
            let next = self.file.of(*vector, lane);
            if lane == 0 && start.is_empty() {
                sum = next;
                continue;
            }
            let dst = if lane + 1 == lanes { self.file.of(i, 0) } else { self.file.spare(1) };
            let fields = Fields { flags: op as u8, lanes: 1, size, ..Fields::default() };
            self.push(StepKind::Op, Registers { dst, a: sum, b: next, c: 0 }, fields, frame);
            sum = dst;
        }
        if lanes <= 1 && start.is_empty() {
            self.move_to(self.file.of(i, 0), sum, frame);
        }
    }

    /// Plans a call; whether it ended the block.
    fn call(&mut self, i: Value<'m>, frame: u32) -> bool {
        match call_kind(i, self.classifier) {
            CallKind::Nothing => {}
            CallKind::Pass => self.pass(i, i.operand(0), frame),
            CallKind::Op(op) if op == ValueOp::DivMod || i.ty().kind() == TypeKind::Struct => {
                self.two_results(i, op, frame);
            }
            CallKind::Op(op) => self.operation(i, op, &arguments(i), frame),
            CallKind::Fma => self.fma(i, frame),
            CallKind::Reduce(op) => self.reduce(i, op, frame),
            CallKind::Copy => self.copy(i, frame),
            CallKind::Fill => self.fill(i, frame),
            CallKind::Modelled(model) => {
                if model.call == Call::Formatted {
                    // What is formatted is looked at.
                    (i.called_type().parameter_count()..i.arguments()).for_each(|n| self.escape(i.operand(n), frame));
                }
                self.out.close(i, 0, NONE);
                self.out.call_hook(i, model, frame);
                return i.opcode() == Opcode::Invoke;
            }
            CallKind::Call(name) => {
                self.opaque_call(i, name.as_deref(), frame);
                return i.opcode() == Opcode::Invoke;
            }
        }
        false
    }

    fn copy(&mut self, i: Value<'m>, frame: u32) {
        let (to, from, length) = (i.operand(0), i.operand(1), i.operand(2));
        self.escape(length, frame);
        let (word, offset) = self.out.address(to);
        let word2 = self.out.word(Word::Value(from));
        let (size, lanes, flags) = match fixed(length) {
            Some(size) => (size, 0, 0),
            None => (0, self.out.word(Word::Value(length)), item_flag::DYNAMIC),
        };
        let kind = ItemKind::Copy as u8;
        self.out.open.items.push(PlannedItem {
            kind,
            flags,
            word,
            word2,
            lanes,
            size,
            frame,
            offset,
            stride: 0,
            note: ItemNote::default(),
        });
    }

    fn fill(&mut self, i: Value<'m>, frame: u32) {
        let (to, length) = (i.operand(0), i.operand(2));
        self.escape(length, frame);
        let (word, offset) = self.out.address(to);
        let (size, word2, flags) = match fixed(length) {
            Some(size) => (size, 0, 0),
            None => (0, self.out.word(Word::Value(length)), item_flag::DYNAMIC),
        };
        let kind = ItemKind::Fill as u8;
        self.out.open.items.push(PlannedItem {
            kind,
            flags,
            word,
            word2,
            lanes: 0,
            size,
            frame,
            offset,
            stride: 0,
            note: ItemNote::default(),
        });
    }

    /// A call whose code may follow values itself: hands over the arguments' identities and takes the results'.
    fn opaque_call(&mut self, i: Value<'m>, name: Option<&str>, frame: u32) {
        let mut hands_over = self.file.has(i);
        let fixed = i.called_type().parameter_count();
        let mut index = 0u16;
        for number in 0..i.arguments() {
            let argument = i.operand(number);
            if let Some(ty) = i.byval_argument(number, self.classifier.attributes.byval) {
                let fields = Fields { lanes: index, size: self.size_of(ty), ..Fields::default() };
                self.push_access(StepKind::BytesArgument, argument, 0, 0, fields, frame);
                hands_over = true;
            }
            for slot in 0..self.slot_count(argument.ty()) {
                let a = self.file.of(argument, slot);
                if a != 0 {
                    let flags = u8::from(number >= fixed);
                    let fields = Fields { flags, lanes: index, ..Fields::default() };
                    self.push(StepKind::Argument, Registers { a, ..Registers::default() }, fields, frame);
                    hands_over = true;
                }
                index = index.saturating_add(1);
            }
        }
        hands_over |= self.pointer_arguments(i, name, frame);
        if hands_over {
            self.push(StepKind::Call, Registers::default(), Fields::default(), frame);
        }
        let exits = if i.is_must_tail() { segment_flag::EXIT } else { 0 };
        let callee = name.map_or(NONE, |n| self.out.plan.strings.intern(n));
        self.out.close(i, exits, callee);
        if i.call_has_attribute(self.classifier.attributes.returns_twice) {
            self.out.plan.landings.push(i);
            self.out.open.flags |= segment_flag::LANDING;
        }
        if i.opcode() == Opcode::Call && hands_over && exits == 0 {
            self.returned(i);
        }
    }

    /// Tells which memory code outside of this module is shown, in case that it follows no values; whether there is any.
    fn pointer_arguments(&mut self, call: Value<'m>, name: Option<&str>, frame: u32) -> bool {
        let callee = call.callee();
        let is_elsewhere = || callee.is_declaration() || callee.linkage() == Linkage::AvailableExternally;
        let may_lack_hooks = !callee.is_function() || is_elsewhere();
        if !may_lack_hooks || name.is_some_and(|n| touches_no_memory(n) || touches_links_only(n)) {
            return false;
        }
        let mut any = false;
        for number in 0..call.arguments().min(MAX_POINTERS) {
            let argument = call.operand(number);
            let ty = argument.ty();
            let is_address = ty.is_pointer() && ty.address_space() == 0 && ty.vector().is_none();
            let is_copy = call.byval_argument(number, self.classifier.attributes.byval).is_some();
            let (Shape { root, .. }, offset) = decompose(self.out.layout, argument);
            if !is_address || is_copy || root.is_null_pointer() || root.is_constant_variable() || root.is_function() {
                continue;
            }
            let size = self.classifier.slot_size(root).and_then(|size| size.checked_sub(u64::try_from(offset).ok()?));
            let size = size.map_or(0, |size| u32::try_from(size).unwrap_or(u32::MAX));
            self.push_access(StepKind::PointerArgument, argument, 0, 0, Fields { size, ..Fields::default() }, frame);
            any = true;
        }
        any
    }

    /// What is known right after a call.
    fn returned(&mut self, call: Value<'m>) {
        if !matches!(call_kind(call, self.classifier), CallKind::Call(_)) {
            return;
        }
        self.push(StepKind::Returned, Registers::default(), Fields::default(), NONE);
        for slot in 0..self.slot_count(call.ty()) {
            let dst = self.file.of(call, slot);
            let fields = Fields { lanes: slot as u16, ..Fields::default() };
            if dst != 0 {
                self.push(StepKind::Result, Registers { dst, ..Registers::default() }, fields, NONE);
            }
        }
    }

    fn terminator(&mut self, i: Value<'m>, frame: u32) {
        match i.opcode() {
            Opcode::Ret => {
                if follows_must_tail(i) {
                    return;
                }
                if i.operands() > 0 {
                    let value = i.operand(0);
                    for slot in 0..self.slot_count(value.ty()) {
                        let a = self.file.of(value, slot);
                        let fields = Fields { lanes: slot as u16, ..Fields::default() };
                        self.push(StepKind::Return, Registers { a, ..Registers::default() }, fields, frame);
                    }
                }
                self.out.close(i, segment_flag::EXIT, NONE);
            }
            Opcode::Resume => self.out.close(i, segment_flag::EXIT, NONE),
            opcode => {
                if is_decision(opcode, i) {
                    self.escape(i.operand(0), frame);
                }
                self.out.close(i, 0, NONE);
            }
        }
    }
}

/// Functions of libstdc++ that find or rearrange nodes, and neither look at what is in them nor move it.
fn touches_links_only(symbol: &str) -> bool {
    const NODES: [&str; 5] = [
        "_ZSt18_Rb_tree_increment",
        "_ZSt18_Rb_tree_decrement",
        "_ZSt29_Rb_tree_insert_and_rebalance",
        "_ZSt28_Rb_tree_rebalance_for_erase",
        "_ZNSt8__detail15_List_node_base",
    ];
    NODES.iter().any(|known| symbol.starts_with(known))
}

/// Whether a terminator looks at its first operand to decide where to go.
fn is_decision(opcode: Opcode, terminator: Value<'_>) -> bool {
    match opcode {
        Opcode::Switch | Opcode::IndirectBr => true,
        Opcode::Br => terminator.operands() > 1,
        _ => false,
    }
}

fn fixed(length: Value<'_>) -> Option<u32> {
    length.as_signed_constant().and_then(|n| u32::try_from(n).ok())
}
