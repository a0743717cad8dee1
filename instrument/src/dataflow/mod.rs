//! Plans the hooks of one function for the values model: which values flow where, as steps that the analysis replays.
//!
//! Takes a function as the front end wrote it (with its scalar variables in registers), gives a [`FunctionPlan`] whose
//! items are [`StepKind`]s. A record carries only what is not static: addresses, the edge by which control came to a
//! block with phis, the conditions of selects. What cannot be followed is counted by name, here as a skip or at run
//! time as a call.

mod arithmetic;
mod call_kind;
mod calls;
mod lanes;
mod memory;
mod operations;
mod parts;
mod registers;

use std::collections::HashMap;

use dmdprof_abi::{
    Item, MAX_RECORD_WORDS, NONE, segment_flag,
    steps::{Registers, StepKind},
};

use crate::{
    classify::Classifier,
    frames::DebugInfo,
    function_plan::{FunctionPlan, Word},
    llvm::ir::{Block, Opcode, Type, Value},
    plan::{follows_must_tail, is_landable},
    segment::SegmentBuilder,
    skip::SkipReason,
};
pub use call_kind::needs_own_destination;
use call_kind::{CallKind, arguments, call_kind};
use registers::{RegisterFile, slots};

/// Steps of one segment, about; longer ones are cut so that descriptors stay small enough for 16-bit counts.
const MAX_STEPS: usize = 4096;
/// Words that one instruction may add.
const WORDS_PER_INSTRUCTION: usize = 8;

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
        Opcode::Call | Opcode::Invoke => {
            matches!(call_kind(instruction, classifier), CallKind::Call(_) | CallKind::Access(_))
        }
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
        self.out.open.push(Item { kind: kind as u8, flags, word, word2, lanes, size, frame, offset, stride });
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
        self.out.open.push(Item {
            kind: kind as u8,
            word,
            lanes: fields.lanes,
            size: fields.size,
            frame,
            offset: base.wrapping_add(offset as i64),
            stride: i64::from(register),
            ..Item::default()
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
            self.look_at(self.file.id(value, slot), frame);
        }
    }

    fn look_at(&mut self, a: u32, frame: u32) {
        if a != 0 {
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
                let dst = self.file.id(parameter, slot);
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
                        Registers { dst: self.file.id(*phi, slot), a: self.file.id(*value, slot), b: 0, c: 0 };
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

    fn pass(&mut self, to: Value<'m>, from: Value<'m>, frame: u32) {
        if !self.file.has(to) {
            return;
        }
        for slot in 0..self.slot_count(to.ty()) {
            self.move_to(self.file.id(to, slot), self.file.id(from, slot), frame);
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
                Registers { dst: self.file.id(i, slot), a: self.file.id(yes, slot), b: self.file.id(no, slot), c: 0 };
            let lanes = if per_lane { slot as u16 } else { 0 };
            self.push(StepKind::Select, registers, Fields { word, lanes, ..Fields::default() }, frame);
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
                        let a = self.file.id(value, slot);
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

/// Whether a terminator looks at its first operand to decide where to go.
fn is_decision(opcode: Opcode, terminator: Value<'_>) -> bool {
    match opcode {
        Opcode::Switch | Opcode::IndirectBr => true,
        Opcode::Br => terminator.operands() > 1,
        _ => false,
    }
}
