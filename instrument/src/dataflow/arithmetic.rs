//! Instructions that compute: one step per lane.

use dmdprof_abi::steps::{Registers, StepKind, ValueOp};

use super::{
    Fields, Planner,
    call_kind::arguments,
    registers::{RegisterFile, slots},
};
use crate::llvm::ir::{Opcode, Type, Value};

impl<'m> Planner<'_, 'm> {
    /// One bit is a truth value in any width, and the width of an index is part of the indexing.
    pub(super) fn conversion(&mut self, i: Value<'m>, frame: u32) {
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

    pub(super) fn operation(&mut self, i: Value<'m>, op: ValueOp, operands: &[Value<'m>], frame: u32) {
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
                operands.get(n).map_or(0, |o| self.file.id(*o, if self.slot_count(o.ty()) > slot { slot } else { 0 }))
            };
            let registers = Registers { dst: self.file.id(i, slot), a: register(0), b: register(1), c: register(2) };
            let fields = Fields { flags: op as u8, lanes: 1, size: part.size, ..Fields::default() };
            self.push(kind, registers, fields, frame);
        }
    }

    /// A fused multiply-add, and behind it the same as two instructions: the analysis takes one or the other.
    pub(super) fn fma(&mut self, i: Value<'m>, frame: u32) {
        let Some(parts) = slots(self.out.layout, i.ty()).filter(|_| self.file.has(i)) else { return };
        let operands = arguments(i);
        for (slot, part) in parts.iter().enumerate() {
            let [a, b, c] = [0, 1, 2].map(|n| operands.get(n).map_or(0, |o| self.file.id(*o, slot)));
            let (dst, product) = (self.file.id(i, slot), self.file.spare(1));
            let fields = |op: ValueOp| Fields { flags: op as u8, lanes: 1, size: part.size, ..Fields::default() };
            self.push(StepKind::Fma, Registers { dst, a, b, c }, fields(ValueOp::Fma), frame);
            self.push(StepKind::Op, Registers { dst: product, a, b, c: 0 }, fields(ValueOp::FpMul), frame);
            self.push(StepKind::Op, Registers { dst, a: product, b: c, c: 0 }, fields(ValueOp::FpAdd), frame);
        }
    }

    /// One instruction with two results, which a structure or one register holds.
    pub(super) fn two_results(&mut self, i: Value<'m>, op: ValueOp, frame: u32) {
        if !self.file.has(i) {
            return;
        }
        let Some(parts) = slots(self.out.layout, i.ty()) else { return };
        let operands = arguments(i);
        let register = |file: &RegisterFile, n: usize| operands.get(n).map_or(0, |o| file.id(*o, 0));
        let (a, b) = (register(&self.file, 0), register(&self.file, 1));
        let flags = op as u8;
        if let [one] = parts[..] {
            // The calling convention packs two halves into one register.
            let half = one.size / 2;
            let dst = self.file.spare(2);
            let fields = Fields { flags, lanes: 2, size: half, word2: half as u16, ..Fields::default() };
            self.push(StepKind::Op, Registers { dst, a, b, c: 0 }, fields, frame);
            let joined = Registers { dst: self.file.id(i, 0), a: dst, b: dst + 1, c: 0 };
            let fields = Fields { size: half, lanes: half as u16, ..Fields::default() };
            return self.push(StepKind::Join, joined, fields, frame);
        }
        let lanes = parts.len() / 2;
        for lane in 0..lanes {
            // Results of vectors with overflow flags lie apart, those of scalars side by side.
            let dst = if lanes == 1 { self.file.id(i, 0) } else { self.file.spare(2) };
            let of = |n: usize| operands.get(n).map_or(0, |o| self.file.id(*o, lane));
            let fields = Fields {
                flags,
                lanes: 2,
                size: parts[lane].size,
                word2: parts[lanes + lane].size as u16,
                ..Fields::default()
            };
            self.push(StepKind::Op, Registers { dst, a: of(0), b: of(1), c: 0 }, fields, frame);
            if lanes > 1 {
                self.move_to(self.file.id(i, lane), dst, frame);
                self.move_to(self.file.id(i, lanes + lane), dst + 1, frame);
            }
        }
    }

    pub(super) fn reduce(&mut self, i: Value<'m>, op: ValueOp, frame: u32) {
        if !self.file.has(i) {
            return;
        }
        let operands = arguments(i);
        let Some((vector, start)) = operands.split_last() else { return };
        let size = self.size_of(i.ty());
        let mut sum = start.first().map_or(0, |s| self.file.id(*s, 0));
        let lanes = self.slot_count(vector.ty());
        for lane in 0..lanes {
            let next = self.file.id(*vector, lane);
            if lane == 0 && start.is_empty() {
                sum = next;
                continue;
            }
            let dst = if lane + 1 == lanes { self.file.id(i, 0) } else { self.file.spare(1) };
            let fields = Fields { flags: op as u8, lanes: 1, size, ..Fields::default() };
            self.push(StepKind::Op, Registers { dst, a: sum, b: next, c: 0 }, fields, frame);
            sum = dst;
        }
        if lanes <= 1 && start.is_empty() {
            self.move_to(self.file.id(i, 0), sum, frame);
        }
    }
}
