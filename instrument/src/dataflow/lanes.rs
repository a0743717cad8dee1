//! Vector accesses by intrinsics: a load or store per lane that takes part.
//!
//! A lane that does not take part has address 0, where no program has anything: what is loaded from there is not used.

use dmdprof_abi::{
    Item, ItemKind, MAX_RECORD_WORDS, NONE,
    steps::{Registers, StepKind},
};

use super::{Fields, Planner, registers::slots};
use crate::{
    access::{Access, Length, Moved},
    function_plan::Word,
    lanes::{Mask, Places},
    llvm::ir::Value,
};

impl<'m> Planner<'_, 'm> {
    /// Plans such an access.
    pub(super) fn vector_access(&mut self, i: Value<'m>, access: &Access<'m>, frame: u32) {
        let (Some(mask), Length::Fixed(size)) = (access.mask, access.length) else {
            return self.whole(i, access, frame);
        };
        let lanes = usize::from(access.lanes);
        if self.out.open.words.len() + lanes + 4 > MAX_RECORD_WORDS {
            self.out.close(i, 0, NONE);
        }
        let base = access.address;
        let is_packed = matches!(access.kind, ItemKind::ExpandLoad | ItemKind::CompressStore);
        let row = if is_packed { Places::Packed { base, size, mask } } else { Places::Row { base, size } };
        let places = access.places.unwrap_or(row);
        let conditions = self.slot_count(mask.value().ty()).min(lanes);
        (0..conditions).for_each(|slot| self.look_at(self.file.id(mask.value(), slot), frame));
        self.indices(places, mask, access.lanes, frame);
        for lane in 0..access.lanes {
            let word = self.out.word(Word::LaneIf(places, mask, lane.into()));
            match access.moved {
                Moved::Operand(data) => {
                    let register = self.file.id(data, lane.into());
                    self.push_lane(StepKind::Store, word, register, size, frame);
                }
                Moved::Result { otherwise } if self.file.has(i) => {
                    let loaded = self.file.spare(1);
                    self.push_lane(StepKind::Load, word, loaded, size, frame);
                    let b = otherwise.map_or(0, |value| self.file.id(value, lane.into()));
                    let registers = Registers { dst: self.file.id(i, lane.into()), a: loaded, b, c: 0 };
                    self.choose(registers, mask, lane, frame);
                }
                _ => {}
            }
        }
        // Processors clear the lanes of a result for which there is no index.
        if self.file.has(i) {
            (lanes..self.slot_count(i.ty())).for_each(|slot| self.move_to(self.file.id(i, slot), 0, frame));
        }
    }

    fn whole(&mut self, i: Value<'m>, access: &Access<'m>, frame: u32) {
        self.escape(access.address, frame);
        let Some(parts) = slots(self.out.layout, i.ty()) else { return };
        for (slot, part) in parts.into_iter().enumerate() {
            let fields = Fields { size: part.size, ..Fields::default() };
            self.push_access(StepKind::Load, access.address, part.offset, self.file.id(i, slot), fields, frame);
        }
    }

    /// Reads what addresses are made of: a base, and the indices or pointers of lanes that take part.
    fn indices(&mut self, places: Places<'m>, mask: Mask<'m>, lanes: u16, frame: u32) {
        let vector = match places {
            Places::Row { base, .. } | Places::Packed { base, .. } => return self.escape(base, frame),
            Places::Apart { base, distance } => {
                self.escape(base, frame);
                return self.escape(distance, frame);
            }
            Places::Indexed { base, index, .. } => {
                self.escape(base, frame);
                index
            }
            Places::Pointers(pointers) => pointers,
        };
        if !self.file.has(vector) {
            return;
        }
        for lane in 0..lanes {
            let used = self.file.spare(1);
            let registers = Registers { dst: used, a: self.file.id(vector, lane.into()), b: 0, c: 0 };
            self.choose(registers, mask, lane, frame);
            self.look_at(used, frame);
        }
    }

    fn choose(&mut self, registers: Registers, mask: Mask<'m>, lane: u16, frame: u32) {
        let word = self.out.word(Word::Mask(mask));
        self.push(StepKind::Select, registers, Fields { word, lanes: lane, ..Fields::default() }, frame);
    }

    fn push_lane(&mut self, kind: StepKind, word: u16, register: u32, size: u64, frame: u32) {
        self.out.open.push(Item {
            kind: kind as u8,
            word,
            size: size as u32,
            frame,
            stride: i64::from(register),
            ..Item::default()
        });
    }
}
