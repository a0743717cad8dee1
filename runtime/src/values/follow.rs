//! What the steps of a segment do to the identities of values.
//!
//! Takes items that the instrumentation made for the values model ([`crate::steps`]) with their record.

use super::{
    core::{Argument, Block, BytesArgument, Core, Pending},
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
                Some(StepKind::PhiMove) => index = self.phi_moves(items, index, record, registers),
                Some(StepKind::Fma) => {
                    if self.options.fma == FmaRule::One {
                        self.op(item, index, place, registers, ValueOp::Fma);
                        // The two steps behind it are the same, expanded.
                        index += 2;
                    }
                }
                Some(kind) => self.step(kind, item, At { index, place, record }, registers, tables),
                None => self.memory_item(item, record),
            }
            index += 1;
        }
        self.registers = all;
    }

    /// Does the steps of a segment before the region begins: all that matters is what has been loaded from its inputs
    /// too early.
    pub(super) fn steps_before(&mut self, items: &[Item], record: &[u64]) {
        let Some(base) = self.frames.last().map(|f| f.base) else { return };
        let mut all = std::mem::take(&mut self.registers);
        let registers = &mut all[base..];
        let mut index = 0;
        while index < items.len() {
            let item = &items[index];
            let Registers { dst, a, b, c } = Registers::from_item(item);
            let (dst, a, b, c) = (dst as usize, a as usize, b as usize, c as usize);
            match StepKind::from_number(item.kind) {
                Some(StepKind::PhiMove) => index = self.phi_moves(items, index, record, registers),
                Some(StepKind::Load) => {
                    let address = record[usize::from(item.word)].wrapping_add_signed(item.offset);
                    let is_input = self.declarations.iter().any(|(start, len)| address.wrapping_sub(*start) < *len);
                    registers[accessed_register(item) as usize] = if is_input { EARLY } else { 0 };
                }
                Some(StepKind::Op | StepKind::Fma | StepKind::Convert | StepKind::Move) => {
                    registers[dst] = registers[a].max(registers[b]).max(registers[c]);
                    if item.lanes == 2 {
                        registers[dst + 1] = registers[dst];
                    }
                }
                Some(StepKind::Select) => {
                    let taken = record[usize::from(item.word)] >> (item.lanes & 63) & 1 == 1;
                    registers[dst] = registers[if taken { a } else { b }];
                }
                Some(StepKind::Result | StepKind::Parameter) => registers[dst] = 0,
                _ => {}
            }
            registers[0] = 0;
            index += 1;
        }
        self.registers = all;
    }

    /// Neighbouring phis read before any of them writes; gives the index of the last.
    fn phi_moves(&mut self, items: &[Item], first: usize, record: &[u64], registers: &mut [ByteLabel]) -> usize {
        self.phis.clear();
        let mut last = first;
        for (index, item) in items.iter().enumerate().skip(first) {
            if item.kind != StepKind::PhiMove as u8 {
                break;
            }
            last = index;
            if record[usize::from(item.word)] == u64::from(item.lanes) {
                let Registers { dst, a, .. } = Registers::from_item(item);
                self.phis.push((dst, registers[a as usize]));
            }
        }
        for &(dst, label) in &self.phis {
            registers[dst as usize] = label;
        }
        last
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
                self.start_gathering();
                let variable = item.flags == 1;
                self.arguments.push(Argument { index: item.lanes, label: registers[a], variable });
            }
            StepKind::BytesArgument => {
                self.start_gathering();
                let address = word.wrapping_add_signed(item.offset);
                self.bytes_arguments.push(BytesArgument { index: item.lanes, address });
            }
            StepKind::PointerArgument => {
                self.start_gathering();
                self.pointers.push((word.wrapping_add_signed(item.offset), u64::from(item.size)));
            }
            StepKind::Call => {
                self.start_gathering();
                self.gathering = false;
                self.results_for = None;
                let callee = tables.callees[at.place.segment.index()];
                let mut shows_values = self.arguments.iter().any(|a| self.is_tracked(a.label));
                for &(address, len) in &self.pointers {
                    shows_values = shows_values || self.memory.shows_values(address, len);
                }
                self.pending = Some(Pending { callee, depth: self.contexts.depth(), shows_values });
            }
            StepKind::Returned => self.returned(tables),
            StepKind::Result => registers[dst] = self.result(item.lanes),
            StepKind::Parameter => {
                let found = self.arguments.iter().find(|p| p.index == item.lanes && !p.variable);
                registers[dst] = found.filter(|_| self.claimed).map_or(0, |p| p.label);
            }
            StepKind::BytesParameter => {
                let to = word.wrapping_add_signed(item.offset);
                let found = self.bytes_arguments.iter().find(|p| p.index == item.lanes);
                if let Some(from) = found.filter(|_| self.claimed).map(|p| p.address)
                    && from != to
                {
                    self.memory.copy(to, from, u64::from(item.size));
                }
            }
            StepKind::Return => self.answer(item.lanes, registers[a]),
            _ => {}
        }
    }

    /// The running function gives a result to a caller that waits for its identity.
    fn answer(&mut self, slot: u16, label: ByteLabel) {
        if !self.frames.last().is_some_and(|f| f.answers) {
            return;
        }
        let depth = self.contexts.depth() - 1;
        if self.results_for != Some(depth) {
            self.results.clear();
            self.results_for = Some(depth);
        }
        self.results.push((slot, label));
    }

    /// Counts a call of code that follows no values if that mattered.
    pub(super) fn not_followed(&mut self, pending: &Pending, tables: &Tables) {
        if pending.shows_values {
            let name = tables.names.get(pending.callee as usize).map_or("(through a pointer)", String::as_str);
            *self.unfollowed.entry(name.to_owned()).or_default() += 1;
        }
    }

    fn start_gathering(&mut self) {
        if !self.gathering {
            self.pointers.clear();
            self.arguments.clear();
            self.bytes_arguments.clear();
            self.gathering = true;
        }
    }

    /// A call has returned. If no function claimed it, the callee follows no values.
    fn returned(&mut self, tables: &Tables) {
        let depth = self.contexts.depth();
        if let Some(pending) = self.pending.take_if(|p| p.depth == depth) {
            self.not_followed(&pending, tables);
            self.results_for = None;
        }
        if self.results_for != Some(depth) {
            self.results.clear();
        }
    }

    pub(super) fn result(&self, slot: u16) -> ByteLabel {
        self.results.iter().find(|(index, _)| *index == slot).map_or(0, |(_, label)| *label)
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

    /// Copies and fills that the instrumentation describes as in the memory model.
    fn memory_item(&mut self, item: &Item, record: &[u64]) {
        let address = record[usize::from(item.word)].wrapping_add_signed(item.offset);
        if effects(item, record, address, &mut Constants(&mut self.memory)).is_err() {
            self.totals.lost_words += 1;
        }
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
