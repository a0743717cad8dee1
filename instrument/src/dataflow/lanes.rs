//! Vector accesses by intrinsics: a load or store per lane that takes part.
//!
//! A lane that does not take part has address 0, where no program has anything: what is loaded from there is not used.

use dmdprof_abi::{
    Item, ItemKind, MAX_RECORD_WORDS, NONE,
    steps::{Registers, StepKind},
};

use super::{
    registers::slots,
    steps::{Fields, Steps},
};
use crate::{
    access::{Access, Length, Moved},
    function_plan::Word,
    lanes::{Mask, Places},
    llvm::ir::Value,
};

/// Plans such an access.
pub fn vector_access<'m>(steps: &mut Steps<'m>, i: Value<'m>, access: &Access<'m>, frame: u32) {
    let (Some(mask), Length::Fixed(size)) = (access.mask, access.length) else {
        return whole(steps, i, access, frame);
    };
    let lanes = usize::from(access.lanes);
    if steps.out.open.words.len() + lanes + 4 > MAX_RECORD_WORDS {
        steps.out.close(i, 0, NONE);
    }
    let base = access.address;
    let is_packed = matches!(access.kind, ItemKind::ExpandLoad | ItemKind::CompressStore);
    let row = if is_packed { Places::Packed { base, size, mask } } else { Places::Row { base, size } };
    let places = access.places.unwrap_or(row);
    let conditions = steps.slot_count(mask.value().ty()).min(lanes);
    (0..conditions).for_each(|slot| steps.look_at(steps.file.id(mask.value(), slot), frame));
    indices(steps, places, mask, access.lanes, frame);
    for lane in 0..access.lanes {
        let word = steps.out.word(Word::LaneIf(places, mask, lane.into()));
        match access.moved {
            Moved::Operand(data) => {
                let register = steps.file.id(data, lane.into());
                push_lane(steps, StepKind::Store, word, register, size, frame);
            }
            Moved::Result { otherwise } if steps.file.has(i) => {
                let loaded = steps.file.spare(1);
                push_lane(steps, StepKind::Load, word, loaded, size, frame);
                let b = otherwise.map_or(0, |value| steps.file.id(value, lane.into()));
                let registers = Registers { dst: steps.file.id(i, lane.into()), a: loaded, b, c: 0 };
                choose(steps, registers, mask, lane, frame);
            }
            _ => {}
        }
    }
    // Processors clear the lanes of a result for which there is no index.
    if steps.file.has(i) {
        (lanes..steps.slot_count(i.ty())).for_each(|slot| steps.move_to(steps.file.id(i, slot), 0, frame));
    }
}

fn whole<'m>(steps: &mut Steps<'m>, i: Value<'m>, access: &Access<'m>, frame: u32) {
    steps.escape(access.address, frame);
    let Some(parts) = slots(steps.out.layout, i.ty()) else { return };
    for (slot, part) in parts.into_iter().enumerate() {
        let fields = Fields { size: part.size, ..Fields::default() };
        steps.push_access(StepKind::Load, access.address, part.offset, steps.file.id(i, slot), fields, frame);
    }
}

/// Reads what addresses are made of: a base, and the indices or pointers of lanes that take part.
fn indices<'m>(steps: &mut Steps<'m>, places: Places<'m>, mask: Mask<'m>, lanes: u16, frame: u32) {
    let vector = match places {
        Places::Row { base, .. } | Places::Packed { base, .. } => return steps.escape(base, frame),
        Places::Apart { base, distance } => {
            steps.escape(base, frame);
            return steps.escape(distance, frame);
        }
        Places::Indexed { base, index, .. } => {
            steps.escape(base, frame);
            index
        }
        Places::Pointers(pointers) => pointers,
    };
    if !steps.file.has(vector) {
        return;
    }
    for lane in 0..lanes {
        let used = steps.file.spare(1);
        let registers = Registers { dst: used, a: steps.file.id(vector, lane.into()), b: 0, c: 0 };
        choose(steps, registers, mask, lane, frame);
        steps.look_at(used, frame);
    }
}

fn choose<'m>(steps: &mut Steps<'m>, registers: Registers, mask: Mask<'m>, lane: u16, frame: u32) {
    let word = steps.out.word(Word::Mask(mask));
    steps.push(StepKind::Select, registers, Fields { word, lanes: lane, ..Fields::default() }, frame);
}

fn push_lane<'m>(steps: &mut Steps<'m>, kind: StepKind, word: u16, register: u32, size: u64, frame: u32) {
    steps.out.open.push(Item {
        kind: kind as u8,
        word,
        size: size as u32,
        frame,
        stride: i64::from(register),
        ..Item::default()
    });
}
