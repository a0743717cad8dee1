//! Loads, stores and atomic accesses, and the indices that lead to them.

use dmdprof_abi::steps::{Registers, StepKind, ValueOp};

use super::{
    operations,
    registers::slots,
    steps::{Fields, Steps},
};
use crate::{llvm::ir::Value, skip::SkipReason};

pub fn load<'m>(steps: &mut Steps<'m>, i: Value<'m>, frame: u32) {
    let pointer = i.operand(0);
    steps.escape(pointer, frame);
    if !is_followed(steps, pointer) {
        return;
    }
    let Some(parts) = slots(steps.out.layout, i.ty()) else { return steps.skip(SkipReason::WideValue) };
    for (slot, part) in parts.into_iter().enumerate() {
        let fields = Fields { size: part.size, ..Fields::default() };
        steps.push_access(StepKind::Load, pointer, part.offset, steps.file.id(i, slot), fields, frame);
    }
}

pub fn store<'m>(steps: &mut Steps<'m>, i: Value<'m>, frame: u32) {
    let (value, pointer) = (i.operand(0), i.operand(1));
    steps.escape(pointer, frame);
    if !is_followed(steps, pointer) {
        return;
    }
    match slots(steps.out.layout, value.ty()) {
        Some(parts) if steps.file.has(value) => {
            for (slot, part) in parts.into_iter().enumerate() {
                let fields = Fields { size: part.size, ..Fields::default() };
                steps.push_access(StepKind::Store, pointer, part.offset, steps.file.id(value, slot), fields, frame);
            }
        }
        known => {
            if known.is_none() {
                steps.skip(SkipReason::WideValue);
            }
            let fields = Fields { size: steps.size_of(value.ty()), ..Fields::default() };
            steps.push_access(StepKind::Store, pointer, 0, 0, fields, frame);
        }
    }
}

/// Whether memory behind this pointer has addresses like everything else.
fn is_followed<'m>(steps: &mut Steps<'m>, pointer: Value<'m>) -> bool {
    let usual = !pointer.ty().is_pointer() || pointer.ty().address_space() == 0;
    if !usual {
        steps.skip(SkipReason::AddressSpace);
    }
    usual
}

pub fn atomic_update<'m>(steps: &mut Steps<'m>, i: Value<'m>, frame: u32) {
    let (pointer, operand) = (i.operand(0), i.operand(1));
    steps.escape(pointer, frame);
    let old = steps.file.id(i, 0);
    let size = steps.size_of(operand.ty());
    let fields = Fields { size, ..Fields::default() };
    steps.push_access(StepKind::Load, pointer, 0, old, fields, frame);
    let new = match operations::of_atomic(i.atomic_operation()) {
        None => steps.file.id(operand, 0),
        Some(op) => {
            let dst = steps.file.spare(1);
            let registers = Registers { dst, a: old, b: steps.file.id(operand, 0), c: 0 };
            steps.push(StepKind::Op, registers, Fields { flags: op as u8, lanes: 1, size, ..Fields::default() }, frame);
            dst
        }
    };
    steps.push_access(StepKind::Store, pointer, 0, new, fields, frame);
}

/// The comparison is followed; what is stored is not, as that depends on its outcome.
pub fn compare_and_swap<'m>(steps: &mut Steps<'m>, i: Value<'m>, frame: u32) {
    let (pointer, expected) = (i.operand(0), i.operand(1));
    steps.escape(pointer, frame);
    let fields = Fields { size: steps.size_of(expected.ty()), ..Fields::default() };
    let old = steps.file.id(i, 0);
    steps.push_access(StepKind::Load, pointer, 0, old, fields, frame);
    let registers = Registers { dst: steps.file.id(i, 1), a: old, b: steps.file.id(expected, 0), c: 0 };
    let op = Fields { flags: ValueOp::Eq as u8, lanes: 1, size: 1, ..Fields::default() };
    steps.push(StepKind::Op, registers, op, frame);
    steps.push_access(StepKind::Store, pointer, 0, 0, fields, frame);
    steps.skip(SkipReason::CompareAndSwap);
}

/// Address computation: tracked indices are read, the base's identity travels.
pub fn index<'m>(steps: &mut Steps<'m>, i: Value<'m>, frame: u32) {
    for position in 1..i.operands() {
        steps.escape(i.operand(position), frame);
    }
    if i.operand(0).ty() == i.ty() {
        steps.pass(i, i.operand(0), frame);
    }
}
