//! Loads, stores and atomic accesses, and the indices that lead to them.

use dmdprof_abi::steps::{Registers, StepKind, ValueOp};

use super::{Fields, Planner, operations, registers::slots};
use crate::{llvm::ir::Value, skip::SkipReason};

impl<'m> Planner<'_, 'm> {
    pub(super) fn load(&mut self, i: Value<'m>, frame: u32) {
        let pointer = i.operand(0);
        self.escape(pointer, frame);
        if !self.is_followed(pointer) {
            return;
        }
        let Some(parts) = slots(self.out.layout, i.ty()) else { return self.skip(SkipReason::WideValue) };
        for (slot, part) in parts.into_iter().enumerate() {
            let fields = Fields { size: part.size, ..Fields::default() };
            self.push_access(StepKind::Load, pointer, part.offset, self.file.id(i, slot), fields, frame);
        }
    }

    pub(super) fn store(&mut self, i: Value<'m>, frame: u32) {
        let (value, pointer) = (i.operand(0), i.operand(1));
        self.escape(pointer, frame);
        if !self.is_followed(pointer) {
            return;
        }
        match slots(self.out.layout, value.ty()) {
            Some(parts) if self.file.has(value) => {
                for (slot, part) in parts.into_iter().enumerate() {
                    let fields = Fields { size: part.size, ..Fields::default() };
                    self.push_access(StepKind::Store, pointer, part.offset, self.file.id(value, slot), fields, frame);
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

    pub(super) fn atomic_update(&mut self, i: Value<'m>, frame: u32) {
        let (pointer, operand) = (i.operand(0), i.operand(1));
        self.escape(pointer, frame);
        let old = self.file.id(i, 0);
        let size = self.size_of(operand.ty());
        let fields = Fields { size, ..Fields::default() };
        self.push_access(StepKind::Load, pointer, 0, old, fields, frame);
        let new = match operations::of_atomic(i.atomic_operation()) {
            None => self.file.id(operand, 0),
            Some(op) => {
                let dst = self.file.spare(1);
                let registers = Registers { dst, a: old, b: self.file.id(operand, 0), c: 0 };
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
    pub(super) fn compare_and_swap(&mut self, i: Value<'m>, frame: u32) {
        let (pointer, expected) = (i.operand(0), i.operand(1));
        self.escape(pointer, frame);
        let fields = Fields { size: self.size_of(expected.ty()), ..Fields::default() };
        let old = self.file.id(i, 0);
        self.push_access(StepKind::Load, pointer, 0, old, fields, frame);
        let registers = Registers { dst: self.file.id(i, 1), a: old, b: self.file.id(expected, 0), c: 0 };
        let op = Fields { flags: ValueOp::Eq as u8, lanes: 1, size: 1, ..Fields::default() };
        self.push(StepKind::Op, registers, op, frame);
        self.push_access(StepKind::Store, pointer, 0, 0, fields, frame);
        self.skip(SkipReason::CompareAndSwap);
    }

    /// Address computation: tracked indices are read, the base's identity travels.
    pub(super) fn index(&mut self, i: Value<'m>, frame: u32) {
        for position in 1..i.operands() {
            self.escape(i.operand(position), frame);
        }
        if i.operand(0).ty() == i.ty() {
            self.pass(i, i.operand(0), frame);
        }
    }
}
