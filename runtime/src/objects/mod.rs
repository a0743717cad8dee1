//! Data objects: what a program would call the memory that it reads. A heap block by where it was allocated, a variable
//! by its name.
//!
//! Takes what the records of one ring say about lives of memory; gives, for an address, the number of the object that
//! lies there now.
//!
//! | object | one per |
//! |---|---|
//! | [`Object::Block`] | calling context and call site of the allocation: all blocks that come from there. `realloc` keeps the object |
//! | [`Object::Mapping`] | the same for mappings, and file |
//! | [`Object::Datum`] | global or static variable by its symbol; section for data without a symbol |
//! | [`Object::Slot`] | variable on the stack, by table and number: all activations |
//! | [`Object::Unknown`] | everything else: memory of code without hooks, thread-local variables, arguments; of other threads, where each thread knows its own objects only |
//!
//! Memory that was freed belongs to nothing until it is handed out again, so that reuse of an address never mixes
//! objects.

pub(crate) mod change;
pub mod common;
mod extents;
pub mod layout;
pub mod layout_delta;
mod map;
mod object;
pub mod slices;
mod starts;
pub mod table;

use std::collections::HashMap;

pub use extents::{PARTS, Parts};
pub use map::{AddressMap, NOTHING, ObjectNumber};
pub use object::{Life, Object, Origin};

use layout::Layout;
use table::ObjectTable;

use crate::{
    decode::{context::ContextNumber, locator::Module},
    hash::FastHash,
    sites::{Segment, Slot},
};

/// The variables on the stack that a record of a segment announces: number in the table, address and bytes.
pub fn announced<'a>(
    module: &'a Module,
    segment: &Segment,
    record: &'a [u64],
) -> impl Iterator<Item = (u32, u64, u64)> + use<'a> {
    segment.slots.clone().map(|slot| {
        let at: &Slot = &module.placed.table.slots[slot as usize];
        (slot, record[usize::from(at.word)].wrapping_add_signed(at.offset), at.size.into())
    })
}

/// The objects of one ring.
#[derive(Default)]
pub struct Objects {
    /// Which there are.
    pub table: ObjectTable,
    /// Which lies where.
    pub layout: Layout,
    /// By table and number of the slot.
    slots: HashMap<(u32, u32), ObjectNumber, FastHash>,
}

impl Objects {
    /// All objects, their lives and what was read of the parts of their large blocks, by number; the paths of mapped
    /// files.
    #[must_use]
    pub fn into_parts(self) -> (Vec<Object>, Vec<Life>, Vec<Option<Parts>>, Vec<String>) {
        let ObjectTable { list, lives, files, .. } = self.table;
        (list, lives, self.layout.extents.into_parts(), files)
    }

    /// The module's variables are there from now on.
    pub fn add_module(&mut self, module: &Module) {
        let table = &module.placed.table;
        let bias = module.placed.low.wrapping_sub(table.section_address);
        for (datum, at) in table.data.iter().enumerate() {
            let number = self.table.number(Object::Datum { table: module.placed.id, datum: datum as u32 });
            self.table.lives[number.index()].start(at.size);
            self.layout.fill(bias.wrapping_add(at.address), at.size, number);
        }
    }

    /// A block of the heap starts.
    pub fn allocated(&mut self, address: u64, len: u64, origin: Origin) {
        let Origin { context, segment } = origin;
        let number = self.table.number_of_origin(
            Object::Block { context, segment },
            Object::Block { context: ContextNumber::ROOT, segment },
        );
        self.table.lives[number.index()].start(len);
        self.layout.fill(address, len, number);
    }

    /// Memory is mapped; the name of the file is empty if there is none.
    pub fn mapped(&mut self, address: u64, len: u64, file: &str, origin: Origin) {
        let Origin { context, segment } = origin;
        let file = (!file.is_empty()).then(|| self.table.file_number(file));
        let coarse = Object::Mapping { context: ContextNumber::ROOT, segment, file };
        let number = self.table.number_of_origin(Object::Mapping { context, segment, file }, coarse);
        self.ended(address, len);
        self.table.lives[number.index()].start(len);
        self.layout.fill(address, len, number);
    }

    /// Bytes end: a block was freed, a mapping removed, a variable's scope left.
    pub fn ended(&mut self, address: u64, len: u64) {
        let number = self.layout.object_at(address);
        self.table.lives[number.index()].end(len);
        self.layout.fill(address, len, NOTHING);
    }

    /// A block moves, or changes its size: it stays what it is. One that was not known starts here.
    pub fn relocated(&mut self, from: u64, from_len: u64, to: u64, to_len: u64, origin: Origin) {
        let number = self.layout.object_at(from);
        self.layout.fill(from, from_len, NOTHING);
        if number == NOTHING {
            self.allocated(to, to_len, origin);
        } else {
            let life = &mut self.table.lives[number.index()];
            life.end(from_len);
            life.bytes += to_len.saturating_sub(from_len);
            life.grow(to_len);
            self.layout.fill(to, to_len, number);
        }
    }

    /// A variable on the stack starts its life.
    pub fn slot_starts(&mut self, table: u32, slot: u32, address: u64, len: u64) {
        let number = match self.slots.get(&(table, slot)) {
            Some(known) => *known,
            None => {
                let number = self.table.number(Object::Slot { table, slot });
                self.slots.insert((table, slot), number);
                number
            }
        };
        self.table.lives[number.index()].start(len);
        self.layout.fill(address, len, number);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{table::MANY, *};
    use crate::{
        decode::locator::{FunctionNumber, Placed, SegmentNumber},
        sites::{Datum, SiteTable},
    };

    const SITE: Option<SegmentNumber> = Some(SegmentNumber::new(10));
    const HERE: Origin = Origin { context: ContextNumber::new(3), segment: SITE };
    const THERE: Origin = Origin { context: ContextNumber::new(4), segment: SITE };

    fn block(origin: Origin) -> Object {
        Object::Block { context: origin.context, segment: origin.segment }
    }

    fn object_at(objects: &mut Objects, address: u64) -> Object {
        let number = objects.layout.object_at(address);
        objects.table.object(number)
    }

    #[test]
    fn an_address_that_is_used_again_belongs_to_the_new_block_only() {
        let mut objects = Objects::default();
        objects.allocated(0x1000, 64, HERE);
        assert_eq!(object_at(&mut objects, 0x103f), block(HERE));
        objects.ended(0x1000, 64);
        assert_eq!(object_at(&mut objects, 0x1000), Object::Unknown);
        objects.allocated(0x1010, 16, THERE);
        assert_eq!(object_at(&mut objects, 0x100f), Object::Unknown);
        assert_eq!(object_at(&mut objects, 0x1010), block(THERE));
        assert_eq!(object_at(&mut objects, 0x1020), Object::Unknown);
        objects.allocated(0x1000, 64, HERE);
        assert_eq!(objects.layout.object_of(0x1000, 64).map(|n| objects.table.object(n)), Some(block(HERE)));
    }

    #[test]
    fn realloc_keeps_the_object_wherever_the_block_goes() {
        let mut objects = Objects::default();
        objects.allocated(0x1000, 64, HERE);
        objects.relocated(0x1000, 64, 0x8000, 128, THERE);
        assert_eq!(object_at(&mut objects, 0x1000), Object::Unknown);
        assert_eq!(object_at(&mut objects, 0x807f), block(HERE), "the grown part too");
        objects.relocated(0x8000, 128, 0x8000, 32, THERE);
        assert_eq!(object_at(&mut objects, 0x801f), block(HERE));
        assert_eq!(object_at(&mut objects, 0x8020), Object::Unknown);
        objects.relocated(0x9000, 16, 0xa000, 32, THERE);
        assert_eq!(object_at(&mut objects, 0xa000), block(THERE), "a block that nobody saw starting");
    }

    #[test]
    fn mappings_are_told_apart_by_file() {
        let mut objects = Objects::default();
        objects.mapped(0x10000, 4096, "/data/a", HERE);
        objects.mapped(0x20000, 4096, "/data/b", HERE);
        objects.mapped(0x30000, 4096, "", HERE);
        let files = [0x10000, 0x20000, 0x30000].map(|address| match object_at(&mut objects, address) {
            Object::Mapping { file, .. } => file.map(|file| objects.table.file(file).to_owned()),
            other => panic!("{other:?}"),
        });
        assert_eq!(files, [Some("/data/a".into()), Some("/data/b".into()), None]);
    }

    fn module() -> Module {
        let datum = |address, size, name: &str| Datum { address, size, name: name.into(), is_section: false };
        let mut table = SiteTable::default();
        table.section_address = 0x100;
        table.data = vec![datum(0x500, 0x100, "section"), datum(0x510, 24, "counter")];
        table.slots = vec![Slot { word: 1, size: 4, offset: 8, ..Slot::default() }];
        let placed = Placed { low: 0x7000_0100, table: Arc::new(table), id: 2 };
        let (first_segment, first_function) = (SegmentNumber::default(), FunctionNumber::default());
        Module { placed, first_segment, first_function, functions: Vec::new() }
    }

    #[test]
    fn variables_lie_where_the_module_was_loaded() {
        let mut objects = Objects::default();
        objects.add_module(&module());
        assert_eq!(object_at(&mut objects, 0x7000_050f), Object::Datum { table: 2, datum: 0 });
        assert_eq!(object_at(&mut objects, 0x7000_0510), Object::Datum { table: 2, datum: 1 });
        assert_eq!(object_at(&mut objects, 0x7000_0528), Object::Datum { table: 2, datum: 0 });
    }

    #[test]
    fn a_slot_lives_from_its_announcement_to_its_end() {
        let module = module();
        let segment = Segment { slots: 0..1, function: 1, ..Segment::default() };
        let mut objects = Objects::default();
        for (slot, address, len) in announced(&module, &segment, &[0, 0x9000]) {
            objects.slot_starts(2, slot, address, len);
        }
        assert_eq!(object_at(&mut objects, 0x900b), Object::Slot { table: 2, slot: 0 });
        assert_eq!(object_at(&mut objects, 0x900c), Object::Unknown);
        objects.ended(0x9008, 4);
        assert_eq!(object_at(&mut objects, 0x9008), Object::Unknown);
    }

    #[test]
    fn beyond_many_contexts_a_call_site_is_one_object() {
        let mut objects = Objects::default();
        for context in (1..=2 * MANY).map(ContextNumber::new) {
            objects.allocated(0x1000, 16, Origin { context, segment: SITE });
        }
        assert_eq!(object_at(&mut objects, 0x1000), Object::Block { context: ContextNumber::ROOT, segment: SITE });
        assert_eq!(objects.table.list().len(), MANY + 1);
    }
}
