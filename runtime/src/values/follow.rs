//! What the steps of a segment do to the identities of values.
//!
//! Takes items that the instrumentation made for the values model ([`crate::steps`]) with their record.

use super::{
    core::{Block, Core},
    handover::{Argument, BytesArgument},
    labels::{CONSTANT, EARLY},
    memory::Memory,
    options::FmaRule,
    tables::Tables,
};
use crate::{
    abi::Item,
    decode::effects::{Effects, effects},
    shadow::ByteLabel,
    steps::{Registers, StepKind, ValueOp, accessed_register},
};

/// Where a step stands.
#[derive(Clone, Copy)]
struct At<'a> {
    index: usize,
    place: Block,
    record: &'a [u64],
}

impl Core {
    pub(super) fn steps(&mut self, items: &[Item], record: &[u64], place: Block, tables: &Tables) {
        let Some(base) = self.frames.last().map(|f| f.base) else { return };
        let mut all = std::mem::take(&mut self.registers);
        let registers = &mut all[base..];
        let mut index = 0;
        while index < items.len() {
            let item = &items[index];
            match StepKind::from_number(item.kind) {
                Some(StepKind::PhiMove) => index = self.phis.apply(items, index, record, registers),
                Some(StepKind::Fma) => {
                    if self.options.fma == FmaRule::One {
                        self.op(item, index, place, registers, ValueOp::Fma);
                        // The two steps behind it are the same, expanded.
                        index += 2;
                    }
                }
                Some(kind) => self.step(kind, item, At { index, place, record }, registers, tables),
                // Copies and fills are described as in the memory model.
                None => {
                    let address = record[usize::from(item.word)].wrapping_add_signed(item.offset);
                    let is_sound = effects(item, record, address, &mut Constants(&mut self.memory)).is_ok();
                    self.totals.lost_words += u64::from(!is_sound);
                }
            }
            index += 1;
        }
        self.registers = all;
    }

    #[inline(always)]
    fn step(&mut self, kind: StepKind, item: &Item, at: At<'_>, registers: &mut [ByteLabel], tables: &Tables) {
        let address = || at.record[usize::from(item.word)].wrapping_add_signed(item.offset);
        let Registers { dst, a, b, c } = Registers::from_item(item);
        let (dst, a, b, c) = (dst as usize, a as usize, b as usize, c as usize);
        match kind {
            StepKind::Load => {
                let label = self.memory.load(address(), u64::from(item.size), &mut self.recorder);
                registers[accessed_register(item) as usize] = label;
            }
            StepKind::Store => {
                let label = registers[accessed_register(item) as usize];
                self.memory.store(address(), u64::from(item.size), label);
            }
            // Most instructions of a kernel compute addresses and count loops.
            StepKind::Op if registers[a] | registers[b] | registers[c] <= CONSTANT => {
                registers[dst] = 0;
                if item.lanes == 2 {
                    registers[dst + 1] = 0;
                }
            }
            StepKind::Op => {
                let op = ValueOp::from_number(item.flags).unwrap_or(ValueOp::Special);
                self.op(item, at.index, at.place, registers, op);
            }
            StepKind::Convert if self.options.element.is_none() => {
                self.op(item, at.index, at.place, registers, ValueOp::Convert);
            }
            StepKind::Convert | StepKind::Move => registers[dst] = registers[a],
            StepKind::Escape => {
                if registers[a] > CONSTANT {
                    self.escape(registers[a], at.index, at.place);
                }
            }
            StepKind::Select => {
                let taken = at.record[usize::from(item.word)] >> (item.lanes & 63) & 1 == 1;
                registers[dst] = registers[if taken { a } else { b }];
            }
            _ => self.rare_step(kind, item, at, registers, tables),
        }
    }

    fn rare_step(&mut self, kind: StepKind, item: &Item, at: At<'_>, registers: &mut [ByteLabel], tables: &Tables) {
        let word = at.record[usize::from(item.word)];
        let Registers { dst, a, b, .. } = Registers::from_item(item);
        let (dst, a, b) = (dst as usize, a as usize, b as usize);
        match kind {
            StepKind::Join => {
                let pieces = [(registers[a], item.size), (registers[b], u32::from(item.lanes))];
                registers[dst] = self.memory.labels.join(&pieces);
            }
            StepKind::Part => {
                registers[dst] = self.memory.labels.label_of_part(registers[a], u32::from(item.lanes), item.size);
            }
            StepKind::Pick => {
                let in_range = a > 0 && word < u64::from(item.lanes);
                registers[dst] = if in_range { registers[a + word as usize] } else { 0 };
            }
            StepKind::Put if dst > 0 && word < u64::from(item.lanes) => registers[dst + word as usize] = registers[a],
            StepKind::Argument => {
                self.handover.gather();
                let variable = item.flags == 1;
                self.handover.arguments.push(Argument { index: item.lanes, label: registers[a], variable });
            }
            StepKind::BytesArgument => {
                self.handover.gather();
                let address = word.wrapping_add_signed(item.offset);
                self.handover.bytes_arguments.push(BytesArgument { index: item.lanes, address });
            }
            StepKind::PointerArgument => {
                self.handover.gather();
                self.handover.pointers.push((word.wrapping_add_signed(item.offset), u64::from(item.size)));
            }
            StepKind::Call => {
                self.handover.gather();
                let callee = tables.callees[at.place.segment.index()];
                let mut shows_values = self.handover.arguments.iter().any(|a| self.memory.labels.is_tracked(a.label));
                for &(address, len) in &self.handover.pointers {
                    shows_values = shows_values || self.memory.shows_values(address, len);
                }
                self.handover.call(callee, self.contexts.depth(), shows_values);
            }
            StepKind::Returned => self.handover.returned(self.contexts.depth(), tables),
            StepKind::Result => registers[dst] = self.handover.result(item.lanes),
            StepKind::Parameter => {
                let found = self.handover.arguments.iter().find(|p| p.index == item.lanes && !p.variable);
                registers[dst] = found.filter(|_| self.handover.claimed).map_or(0, |p| p.label);
            }
            StepKind::BytesParameter => {
                let to = word.wrapping_add_signed(item.offset);
                let found = self.handover.bytes_arguments.iter().find(|p| p.index == item.lanes);
                if let Some(from) = found.filter(|_| self.handover.claimed).map(|p| p.address)
                    && from != to
                {
                    self.memory.copy(to, from, u64::from(item.size));
                }
            }
            StepKind::Return if self.frames.last().is_some_and(|f| f.answers) => {
                self.handover.answer(self.contexts.depth() - 1, item.lanes, registers[a]);
            }
            _ => {}
        }
    }

    #[inline]
    pub(super) fn op(&mut self, item: &Item, index: usize, place: Block, registers: &mut [ByteLabel], op: ValueOp) {
        let Registers { dst, a, b, c } = Registers::from_item(item);
        let labels = [registers[a as usize], registers[b as usize], registers[c as usize]];
        let second = item.lanes == 2;
        let mut result = 0;
        let mut operands = std::mem::take(&mut self.operands);
        operands.clear();
        for label in labels {
            if label > CONSTANT {
                self.early_reads += u64::from(label == EARLY);
                self.memory.add_values(label, &mut operands);
            }
        }
        if !operands.is_empty() {
            let sizes = match self.options.element {
                Some(size) => [size, size],
                None => [item.size as u8, item.word2 as u8],
            };
            let cell = self.cell(place, index);
            let sizes = &sizes[..1 + usize::from(second)];
            if let Some(first) = self.recorder.instruction(cell, op, &operands, sizes) {
                self.cells[cell as usize].executions += 1;
                result = first;
            }
        }
        self.operands = operands;
        if dst > 0 {
            registers[dst as usize] = result;
            if second {
                registers[dst as usize + 1] = if result > 0 { result + 1 } else { 0 };
            }
        }
    }

    pub(super) fn escape(&mut self, label: ByteLabel, index: usize, place: Block) {
        self.early_reads += u64::from(label == EARLY);
        let mut operands = std::mem::take(&mut self.operands);
        operands.clear();
        self.memory.add_values(label, &mut operands);
        for &operand in &operands {
            let cell = self.cell(place, index);
            self.cells[cell as usize].executions += u64::from(self.recorder.escape(cell, operand));
        }
        self.operands = operands;
    }

    /// The function that makes a call is the one that runs.
    pub(super) fn resume(&mut self, place: Block, tables: &Tables) {
        if self.contexts.function() != Some(place.function) {
            self.contexts.resume(place.function);
            self.align_frames(tables.functions[place.function.index()].1);
        }
    }

    /// A library function looked at bytes: one read of each value among them.
    pub(super) fn library_read(&mut self, place: Option<Block>, address: u64, len: u64, tables: &Tables) {
        let Some(place) = place else { return };
        self.resume(place, tables);
        for value in self.memory.values(address, len, &mut self.recorder) {
            let cell = self.cell(place, 0);
            self.cells[cell as usize].executions += u64::from(self.recorder.escape(cell, value));
        }
    }
}

/// What copies and fills do to identities. The instrumentation describes every other access by a step.
struct Constants<'a>(&'a mut Memory);

impl Effects for Constants<'_> {
    fn load(&mut self, _: u64, _: u64) {}

    fn store(&mut self, _: u64, _: u64) {}

    fn update(&mut self, _: u64, _: u64) {}

    fn copy(&mut self, to: u64, from: u64, len: u64) {
        self.0.copy(to, from, len);
    }

    fn fill(&mut self, address: u64, len: u64) {
        self.0.store(address, len, CONSTANT);
    }

    fn kill(&mut self, _: u64, _: u64) {}
}
