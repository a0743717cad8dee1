//! Vectors and structures taken apart and put together: moves between registers, and few instructions.

use dmdprof_abi::steps::{Registers, StepKind};

use super::{
    registers::{slot_of_path, slots},
    steps::{Fields, Steps},
};
use crate::{function_plan::Word, llvm::ir::Value, skip::SkipReason};

pub fn bitcast<'m>(steps: &mut Steps<'m>, i: Value<'m>, frame: u32) {
    let from = i.operand(0);
    let (Some(source), Some(target)) = (slots(steps.out.layout, from.ty()), slots(steps.out.layout, i.ty())) else {
        return;
    };
    if !steps.file.has(i) {
        return;
    }
    if source.len() == target.len() {
        return steps.pass(i, from, frame);
    }
    let mut whole = steps.file.id(from, 0);
    for (slot, part) in source.iter().enumerate().skip(1) {
        let dst = steps.file.spare(1);
        let registers = Registers { dst, a: whole, b: steps.file.id(from, slot), c: 0 };
        let fields = Fields { size: part.offset as u32, lanes: part.size as u16, ..Fields::default() };
        steps.push(StepKind::Join, registers, fields, frame);
        whole = dst;
    }
    if let [_] = target[..] {
        return steps.move_to(steps.file.id(i, 0), whole, frame);
    }
    for (slot, part) in target.iter().enumerate() {
        let registers = Registers { dst: steps.file.id(i, slot), a: whole, b: 0, c: 0 };
        let fields = Fields { size: part.size, lanes: part.offset as u16, ..Fields::default() };
        steps.push(StepKind::Part, registers, fields, frame);
    }
}

pub fn extract_element<'m>(steps: &mut Steps<'m>, i: Value<'m>, frame: u32) {
    let (vector, index) = (i.operand(0), i.operand(1));
    steps.escape(index, frame);
    if !steps.file.has(i) {
        return;
    }
    let dst = steps.file.id(i, 0);
    match index.as_signed_constant() {
        Some(lane) => steps.move_to(dst, lane_register(steps, vector, lane), frame),
        None => {
            let word = steps.out.word(Word::Value(index));
            let lanes = steps.slot_count(vector.ty()) as u16;
            let registers = Registers { dst, a: steps.file.id(vector, 0), b: 0, c: 0 };
            steps.push(StepKind::Pick, registers, Fields { word, lanes, ..Fields::default() }, frame);
        }
    }
}

/// Register of a lane, 0 if it is out of range.
fn lane_register<'m>(steps: &Steps<'m>, vector: Value<'m>, lane: i64) -> u32 {
    let count = steps.slot_count(vector.ty());
    usize::try_from(lane).ok().filter(|l| *l < count).map_or(0, |l| steps.file.id(vector, l))
}

pub fn insert_element<'m>(steps: &mut Steps<'m>, i: Value<'m>, frame: u32) {
    let (vector, element, index) = (i.operand(0), i.operand(1), i.operand(2));
    steps.escape(index, frame);
    if !steps.file.has(i) {
        return;
    }
    steps.pass(i, vector, frame);
    match index.as_signed_constant() {
        Some(lane) => steps.move_to(lane_register(steps, i, lane), steps.file.id(element, 0), frame),
        None => {
            let word = steps.out.word(Word::Value(index));
            let lanes = steps.slot_count(vector.ty()) as u16;
            let registers = Registers { dst: steps.file.id(i, 0), a: steps.file.id(element, 0), b: 0, c: 0 };
            steps.push(StepKind::Put, registers, Fields { word, lanes, ..Fields::default() }, frame);
        }
    }
}

pub fn shuffle<'m>(steps: &mut Steps<'m>, i: Value<'m>, frame: u32) {
    if !steps.file.has(i) {
        return;
    }
    let (first, second) = (i.operand(0), i.operand(1));
    let split = i64::from(first.ty().lanes());
    for (slot, taken) in i.shuffle_mask().into_iter().enumerate() {
        let a = match taken.map(i64::from) {
            Some(lane) if lane < split => lane_register(steps, first, lane),
            Some(lane) => lane_register(steps, second, lane - split),
            None => 0,
        };
        steps.move_to(steps.file.id(i, slot), a, frame);
    }
}

pub fn extract_value<'m>(steps: &mut Steps<'m>, i: Value<'m>, frame: u32) {
    let whole = i.operand(0);
    let Some(start) = slot_of_path(steps.out.layout, whole.ty(), &i.indices()).filter(|_| steps.file.has(i)) else {
        return;
    };
    for slot in 0..steps.slot_count(i.ty()) {
        steps.move_to(steps.file.id(i, slot), steps.file.id(whole, start + slot), frame);
    }
}

pub fn insert_value<'m>(steps: &mut Steps<'m>, i: Value<'m>, frame: u32) {
    let (whole, part) = (i.operand(0), i.operand(1));
    let Some(start) = slot_of_path(steps.out.layout, whole.ty(), &i.indices()).filter(|_| steps.file.has(i)) else {
        return;
    };
    steps.pass(i, whole, frame);
    for slot in 0..steps.slot_count(part.ty()) {
        steps.move_to(steps.file.id(i, start + slot), steps.file.id(part, slot), frame);
    }
}

/// One of two values, by a condition that is read.
pub fn select<'m>(steps: &mut Steps<'m>, i: Value<'m>, frame: u32) {
    let condition = i.operand(0);
    steps.escape(condition, frame);
    if !steps.file.has(i) {
        return;
    }
    let (yes, no) = (i.operand(1), i.operand(2));
    if condition.ty().lanes() > 64 {
        return steps.skip(SkipReason::WideMask);
    }
    let word = steps.out.word(Word::Value(condition));
    let per_lane = condition.ty().vector().is_some();
    for slot in 0..steps.slot_count(i.ty()) {
        let registers =
            Registers { dst: steps.file.id(i, slot), a: steps.file.id(yes, slot), b: steps.file.id(no, slot), c: 0 };
        let lanes = if per_lane { slot as u16 } else { 0 };
        steps.push(StepKind::Select, registers, Fields { word, lanes, ..Fields::default() }, frame);
    }
}
