//! Vectors and structures taken apart and put together: moves between registers, and few instructions.

use dmdprof_abi::steps::{Registers, StepKind};

use super::{
    Fields, Planner,
    registers::{slot_of_path, slots},
};
use crate::{function_plan::Word, llvm::ir::Value};

impl<'m> Planner<'_, 'm> {
    pub(super) fn bitcast(&mut self, i: Value<'m>, frame: u32) {
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
        let mut whole = self.file.id(from, 0);
        for (slot, part) in source.iter().enumerate().skip(1) {
            let dst = self.file.spare(1);
            let registers = Registers { dst, a: whole, b: self.file.id(from, slot), c: 0 };
            let fields = Fields { size: part.offset as u32, lanes: part.size as u16, ..Fields::default() };
            self.push(StepKind::Join, registers, fields, frame);
            whole = dst;
        }
        if let [_] = target[..] {
            return self.move_to(self.file.id(i, 0), whole, frame);
        }
        for (slot, part) in target.iter().enumerate() {
            let registers = Registers { dst: self.file.id(i, slot), a: whole, b: 0, c: 0 };
            let fields = Fields { size: part.size, lanes: part.offset as u16, ..Fields::default() };
            self.push(StepKind::Part, registers, fields, frame);
        }
    }

    pub(super) fn extract_element(&mut self, i: Value<'m>, frame: u32) {
        let (vector, index) = (i.operand(0), i.operand(1));
        self.escape(index, frame);
        if !self.file.has(i) {
            return;
        }
        let dst = self.file.id(i, 0);
        match index.as_signed_constant() {
            Some(lane) => self.move_to(dst, self.lane_register(vector, lane), frame),
            None => {
                let word = self.out.word(Word::Value(index));
                let lanes = self.slot_count(vector.ty()) as u16;
                let registers = Registers { dst, a: self.file.id(vector, 0), b: 0, c: 0 };
                self.push(StepKind::Pick, registers, Fields { word, lanes, ..Fields::default() }, frame);
            }
        }
    }

    /// Register of a lane, 0 if it is out of range.
    fn lane_register(&self, vector: Value<'m>, lane: i64) -> u32 {
        let count = self.slot_count(vector.ty());
        usize::try_from(lane).ok().filter(|l| *l < count).map_or(0, |l| self.file.id(vector, l))
    }

    pub(super) fn insert_element(&mut self, i: Value<'m>, frame: u32) {
        let (vector, element, index) = (i.operand(0), i.operand(1), i.operand(2));
        self.escape(index, frame);
        if !self.file.has(i) {
            return;
        }
        self.pass(i, vector, frame);
        match index.as_signed_constant() {
            Some(lane) => self.move_to(self.lane_register(i, lane), self.file.id(element, 0), frame),
            None => {
                let word = self.out.word(Word::Value(index));
                let lanes = self.slot_count(vector.ty()) as u16;
                let registers = Registers { dst: self.file.id(i, 0), a: self.file.id(element, 0), b: 0, c: 0 };
                self.push(StepKind::Put, registers, Fields { word, lanes, ..Fields::default() }, frame);
            }
        }
    }

    pub(super) fn shuffle(&mut self, i: Value<'m>, frame: u32) {
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
            self.move_to(self.file.id(i, slot), a, frame);
        }
    }

    pub(super) fn extract_value(&mut self, i: Value<'m>, frame: u32) {
        let whole = i.operand(0);
        let Some(start) = slot_of_path(self.out.layout, whole.ty(), &i.indices()).filter(|_| self.file.has(i)) else {
            return;
        };
        for slot in 0..self.slot_count(i.ty()) {
            self.move_to(self.file.id(i, slot), self.file.id(whole, start + slot), frame);
        }
    }

    pub(super) fn insert_value(&mut self, i: Value<'m>, frame: u32) {
        let (whole, part) = (i.operand(0), i.operand(1));
        let Some(start) = slot_of_path(self.out.layout, whole.ty(), &i.indices()).filter(|_| self.file.has(i)) else {
            return;
        };
        self.pass(i, whole, frame);
        for slot in 0..self.slot_count(part.ty()) {
            self.move_to(self.file.id(i, start + slot), self.file.id(part, slot), frame);
        }
    }
}
