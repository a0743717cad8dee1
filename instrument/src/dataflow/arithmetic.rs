//! Instructions that compute: one step per lane.

use dmdprof_abi::steps::{Registers, StepKind, ValueOp};

use super::{
    call_kind::arguments,
    registers::{RegisterFile, slots},
    steps::{Fields, Steps},
};
use crate::llvm::ir::{Opcode, Type, Value};

/// One bit is a truth value in any width, and the width of an index is part of the indexing.
pub fn conversion<'m>(steps: &mut Steps<'m>, i: Value<'m>, frame: u32) {
    let is_bit = |ty: Type| ty.scalar().int_width() == Some(1);
    let is_index = || {
        let users = i.users();
        !users.is_empty() && users.iter().all(|u| u.is_instruction() && u.opcode() == Opcode::GetElementPtr)
    };
    if is_bit(i.ty()) || is_bit(i.operand(0).ty()) || is_index() {
        return steps.pass(i, i.operand(0), frame);
    }
    lanewise(steps, StepKind::Convert, ValueOp::Convert, i, &[i.operand(0)], frame);
}

pub fn operation<'m>(steps: &mut Steps<'m>, i: Value<'m>, op: ValueOp, operands: &[Value<'m>], frame: u32) {
    lanewise(steps, StepKind::Op, op, i, operands, frame);
}

/// One instruction per lane of the result.
fn lanewise<'m>(steps: &mut Steps<'m>, kind: StepKind, op: ValueOp, i: Value<'m>, operands: &[Value<'m>], frame: u32) {
    if !steps.file.has(i) {
        return;
    }
    let Some(parts) = slots(steps.out.layout, i.ty()) else { return };
    for (slot, part) in parts.iter().enumerate() {
        // A scalar beside vectors (the exponent of `powi`, a flag) goes with every lane.
        let register = |n: usize| {
            operands.get(n).map_or(0, |o| steps.file.id(*o, if steps.slot_count(o.ty()) > slot { slot } else { 0 }))
        };
        let registers = Registers { dst: steps.file.id(i, slot), a: register(0), b: register(1), c: register(2) };
        let fields = Fields { flags: op as u8, lanes: 1, size: part.size, ..Fields::default() };
        steps.push(kind, registers, fields, frame);
    }
}

/// A fused multiply-add, and behind it the same as two instructions: the analysis takes one or the other.
pub fn fma<'m>(steps: &mut Steps<'m>, i: Value<'m>, frame: u32) {
    let Some(parts) = slots(steps.out.layout, i.ty()).filter(|_| steps.file.has(i)) else { return };
    let operands = arguments(i);
    for (slot, part) in parts.iter().enumerate() {
        let [a, b, c] = [0, 1, 2].map(|n| operands.get(n).map_or(0, |o| steps.file.id(*o, slot)));
        let (dst, product) = (steps.file.id(i, slot), steps.file.spare(1));
        let fields = |op: ValueOp| Fields { flags: op as u8, lanes: 1, size: part.size, ..Fields::default() };
        steps.push(StepKind::Fma, Registers { dst, a, b, c }, fields(ValueOp::Fma), frame);
        steps.push(StepKind::Op, Registers { dst: product, a, b, c: 0 }, fields(ValueOp::FpMul), frame);
        steps.push(StepKind::Op, Registers { dst, a: product, b: c, c: 0 }, fields(ValueOp::FpAdd), frame);
    }
}

/// One instruction with two results, which a structure or one register holds.
pub fn two_results<'m>(steps: &mut Steps<'m>, i: Value<'m>, op: ValueOp, frame: u32) {
    if !steps.file.has(i) {
        return;
    }
    let Some(parts) = slots(steps.out.layout, i.ty()) else { return };
    let operands = arguments(i);
    let register = |file: &RegisterFile, n: usize| operands.get(n).map_or(0, |o| file.id(*o, 0));
    let (a, b) = (register(&steps.file, 0), register(&steps.file, 1));
    let flags = op as u8;
    if let [one] = parts[..] {
        // The calling convention packs two halves into one register.
        let half = one.size / 2;
        let dst = steps.file.spare(2);
        let fields = Fields { flags, lanes: 2, size: half, word2: half as u16, ..Fields::default() };
        steps.push(StepKind::Op, Registers { dst, a, b, c: 0 }, fields, frame);
        let joined = Registers { dst: steps.file.id(i, 0), a: dst, b: dst + 1, c: 0 };
        let fields = Fields { size: half, lanes: half as u16, ..Fields::default() };
        return steps.push(StepKind::Join, joined, fields, frame);
    }
    let lanes = parts.len() / 2;
    for lane in 0..lanes {
        // Results of vectors with overflow flags lie apart, those of scalars side by side.
        let dst = if lanes == 1 { steps.file.id(i, 0) } else { steps.file.spare(2) };
        let of = |n: usize| operands.get(n).map_or(0, |o| steps.file.id(*o, lane));
        let fields = Fields {
            flags,
            lanes: 2,
            size: parts[lane].size,
            word2: parts[lanes + lane].size as u16,
            ..Fields::default()
        };
        steps.push(StepKind::Op, Registers { dst, a: of(0), b: of(1), c: 0 }, fields, frame);
        if lanes > 1 {
            steps.move_to(steps.file.id(i, lane), dst, frame);
            steps.move_to(steps.file.id(i, lanes + lane), dst + 1, frame);
        }
    }
}

pub fn reduce<'m>(steps: &mut Steps<'m>, i: Value<'m>, op: ValueOp, frame: u32) {
    if !steps.file.has(i) {
        return;
    }
    let operands = arguments(i);
    let Some((vector, start)) = operands.split_last() else { return };
    let size = steps.size_of(i.ty());
    let mut sum = start.first().map_or(0, |s| steps.file.id(*s, 0));
    let lanes = steps.slot_count(vector.ty());
    for lane in 0..lanes {
        let next = steps.file.id(*vector, lane);
        if lane == 0 && start.is_empty() {
            sum = next;
            continue;
        }
        let dst = if lane + 1 == lanes { steps.file.id(i, 0) } else { steps.file.spare(1) };
        let fields = Fields { flags: op as u8, lanes: 1, size, ..Fields::default() };
        steps.push(StepKind::Op, Registers { dst, a: sum, b: next, c: 0 }, fields, frame);
        sum = dst;
    }
    if lanes <= 1 && start.is_empty() {
        steps.move_to(steps.file.id(i, 0), sum, frame);
    }
}
