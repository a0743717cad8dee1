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
mod steps;

use std::collections::HashMap;

use dmdprof_abi::{
    MAX_RECORD_WORDS, NONE, segment_flag,
    steps::{Registers, StepKind},
};

use crate::{
    classify::Classifier,
    frames::DebugInfo,
    function_plan::{FunctionPlan, Word},
    llvm::ir::{Block, Opcode, Value},
    plan::{follows_must_tail, is_landable},
    segment::SegmentBuilder,
    skip::SkipReason,
};
pub use call_kind::needs_own_destination;
use call_kind::{CallKind, arguments, call_kind};
use registers::RegisterFile;
use steps::{Fields, Steps};

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
    let steps = Steps { out: SegmentBuilder::new(classifier.layout, plan), file };
    let mut planner = Planner { classifier, debug, symbol: &symbol, steps, landable, invokes };
    for (index, block) in blocks.into_iter().enumerate() {
        planner.block(function, block, index == 0);
    }
    planner.steps.out.plan
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
    steps: Steps<'m>,
    landable: bool,
    /// Invokes by their normal destinations.
    invokes: HashMap<Block<'m>, Value<'m>>,
}

impl<'m> Planner<'_, 'm> {
    fn block(&mut self, function: Value<'m>, block: Block<'m>, is_entry: bool) {
        self.steps.out.start_block(is_entry, self.landable);
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
                self.steps.out.open.flags |= segment_flag::LANDING;
            }
            let is_full = self.steps.out.open.items.len() >= MAX_STEPS
                || self.steps.out.open.words.len() + WORDS_PER_INSTRUCTION + 2 > MAX_RECORD_WORDS;
            if is_full && instruction.opcode() != Opcode::Phi {
                self.steps.out.close(instruction, 0, NONE);
            }
            let frame = self.steps.out.frame(instruction, self.symbol, self.debug);
            let ended = self.instruction(instruction, frame);
            if position + 1 == instructions.len() && !ended {
                self.terminator(instruction, frame);
            }
        }
    }

    fn parameters(&mut self, function: Value<'m>) {
        let mut index = 0u16;
        for (number, parameter) in function.parameters().into_iter().enumerate() {
            if let Some(ty) = function.parameter_byval(number as u32, self.classifier.attributes.byval) {
                let fields = Fields { lanes: index, size: self.steps.size_of(ty), ..Fields::default() };
                self.steps.push_access(StepKind::BytesParameter, parameter, 0, 0, fields, NONE);
            }
            for slot in 0..self.steps.slot_count(parameter.ty()) {
                let dst = self.steps.file.id(parameter, slot);
                let fields = Fields { lanes: index, ..Fields::default() };
                if dst != 0 {
                    self.steps.push(StepKind::Parameter, Registers { dst, ..Registers::default() }, fields, NONE);
                }
                index += 1;
            }
        }
    }

    /// All phis of a block at once, for each edge by which control may come.
    fn phis(&mut self, block: Block<'m>, instructions: &[Value<'m>]) {
        let phis: Vec<Value> = instructions.iter().copied().take_while(|i| i.opcode() == Opcode::Phi).collect();
        let Some(first) = phis.first().filter(|_| phis.iter().any(|p| self.steps.file.has(*p))) else { return };
        let edges = first.incoming();
        let word = self.steps.out.word(Word::Predecessor(block));
        for phi in &phis {
            if !self.steps.file.has(*phi) {
                continue;
            }
            let incoming = phi.incoming();
            for (number, (_, from)) in edges.iter().enumerate() {
                if edges[..number].iter().any(|(_, earlier)| earlier == from) {
                    continue;
                }
                let Some((value, _)) = incoming.iter().find(|(_, b)| b == from) else { continue };
                for slot in 0..self.steps.slot_count(phi.ty()) {
                    let registers = Registers {
                        dst: self.steps.file.id(*phi, slot),
                        a: self.steps.file.id(*value, slot),
                        b: 0,
                        c: 0,
                    };
                    let fields = Fields { word, lanes: number as u16, ..Fields::default() };
                    self.steps.push(StepKind::PhiMove, registers, fields, NONE);
                }
            }
        }
    }

    /// Plans one instruction; whether it ended the block's last segment itself.
    fn instruction(&mut self, i: Value<'m>, frame: u32) -> bool {
        match i.opcode() {
            Opcode::Load => memory::load(&mut self.steps, i, frame),
            Opcode::Store => memory::store(&mut self.steps, i, frame),
            Opcode::AtomicRMW => memory::atomic_update(&mut self.steps, i, frame),
            Opcode::AtomicCmpXchg => memory::compare_and_swap(&mut self.steps, i, frame),
            Opcode::Call | Opcode::Invoke => return self.call(i, frame),
            Opcode::GetElementPtr => memory::index(&mut self.steps, i, frame),
            Opcode::Select => parts::select(&mut self.steps, i, frame),
            Opcode::Freeze | Opcode::PtrToInt | Opcode::IntToPtr | Opcode::AddrSpaceCast => {
                self.steps.pass(i, i.operand(0), frame);
            }
            Opcode::BitCast => parts::bitcast(&mut self.steps, i, frame),
            Opcode::ExtractElement => parts::extract_element(&mut self.steps, i, frame),
            Opcode::InsertElement => parts::insert_element(&mut self.steps, i, frame),
            Opcode::ShuffleVector => parts::shuffle(&mut self.steps, i, frame),
            Opcode::ExtractValue => parts::extract_value(&mut self.steps, i, frame),
            Opcode::InsertValue => parts::insert_value(&mut self.steps, i, frame),
            Opcode::CallBr => self.steps.skip(SkipReason::InlineAssembly),
            Opcode::VAArg => self.steps.skip(SkipReason::VariableArguments),
            opcode if operations::is_conversion(opcode) => arithmetic::conversion(&mut self.steps, i, frame),
            _ => {
                if let Some(op) = operations::of_instruction(i) {
                    let operands: Vec<Value> = (0..i.operands()).map(|n| i.operand(n)).collect();
                    arithmetic::operation(&mut self.steps, i, op, &operands, frame);
                }
            }
        }
        false
    }

    fn terminator(&mut self, i: Value<'m>, frame: u32) {
        match i.opcode() {
            Opcode::Ret => {
                if follows_must_tail(i) {
                    return;
                }
                if i.operands() > 0 {
                    let value = i.operand(0);
                    for slot in 0..self.steps.slot_count(value.ty()) {
                        let a = self.steps.file.id(value, slot);
                        let fields = Fields { lanes: slot as u16, ..Fields::default() };
                        self.steps.push(StepKind::Return, Registers { a, ..Registers::default() }, fields, frame);
                    }
                }
                self.steps.out.close(i, segment_flag::EXIT, NONE);
            }
            Opcode::Resume => self.steps.out.close(i, segment_flag::EXIT, NONE),
            opcode => {
                if is_decision(opcode, i) {
                    self.steps.escape(i.operand(0), frame);
                }
                self.steps.out.close(i, 0, NONE);
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
