//! The steps of a function as they are planned: where its values live, and the segment that is being written.
//!
//! Takes values of the function; writes steps with the numbers of their registers. A register 0 is nothing: what is
//! not followed has no steps.

use dmdprof_abi::{
    Item,
    steps::{Registers, StepKind},
};

use super::registers::{RegisterFile, slots};
use crate::{
    llvm::ir::{Type, Value},
    segment::SegmentBuilder,
    skip::SkipReason,
};

/// What the steps of a function are written to.
pub struct Steps<'m> {
    /// The segment that is open, and all before it.
    pub out: SegmentBuilder<'m>,
    /// The register of each value.
    pub file: RegisterFile<'m>,
}

/// Fields of a step that are not registers.
#[derive(Clone, Copy, Default)]
pub struct Fields {
    pub flags: u8,
    pub word: u16,
    pub word2: u16,
    pub lanes: u16,
    pub size: u32,
}

impl<'m> Steps<'m> {
    /// A step of registers.
    pub fn push(&mut self, kind: StepKind, registers: Registers, fields: Fields, frame: u32) {
        let (offset, stride) = registers.packed();
        let Fields { flags, word, word2, lanes, size } = fields;
        self.out.open.push(Item { kind: kind as u8, flags, word, word2, lanes, size, frame, offset, stride });
    }

    /// A step with an address and one register.
    pub fn push_access(
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

    /// Counts what is not followed.
    pub fn skip(&mut self, reason: SkipReason) {
        *self.out.plan.skips.entry(reason).or_default() += 1;
    }

    /// A value goes from one register to another.
    pub fn move_to(&mut self, dst: u32, a: u32, frame: u32) {
        if dst != 0 {
            self.push(StepKind::Move, Registers { dst, a, ..Registers::default() }, Fields::default(), frame);
        }
    }

    /// Reads a value without a result.
    pub fn escape(&mut self, value: Value<'m>, frame: u32) {
        if !self.file.has(value) {
            return;
        }
        for slot in 0..self.slot_count(value.ty()) {
            self.look_at(self.file.id(value, slot), frame);
        }
    }

    /// Reads a register without a result.
    pub fn look_at(&mut self, a: u32, frame: u32) {
        if a != 0 {
            self.push(StepKind::Escape, Registers { a, ..Registers::default() }, Fields::default(), frame);
        }
    }

    /// Registers that a value of a type takes.
    pub fn slot_count(&self, ty: Type<'m>) -> usize {
        slots(self.out.layout, ty).map_or(0, |s| s.len())
    }

    /// Bytes that a value of a type takes in memory.
    pub fn size_of(&self, ty: Type<'m>) -> u32 {
        u32::try_from(self.out.layout.store_size(ty)).unwrap_or(u32::MAX)
    }

    /// A value becomes another, register by register.
    pub fn pass(&mut self, to: Value<'m>, from: Value<'m>, frame: u32) {
        if !self.file.has(to) {
            return;
        }
        for slot in 0..self.slot_count(to.ty()) {
            self.move_to(self.file.id(to, slot), self.file.id(from, slot), frame);
        }
    }
}
