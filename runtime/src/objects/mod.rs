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
pub mod layout_delta;
mod map;
pub mod slices;
mod starts;

use std::collections::HashMap;

pub use extents::{PARTS, Parts};
pub use map::{AddressMap, NOTHING, ObjectNumber};

use extents::Extents;
use serde::{Deserialize, Serialize};
use starts::Starts;

use crate::{
    decode::{
        context::ContextNumber,
        locator::{Module, SegmentNumber},
    },
    engine::{Kind, Stream},
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

/// More objects than this are not kept apart per ring: blocks then are one object per call site, whatever the context.
const MANY: usize = 1 << 16;

/// An object, in the numbers of its ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Object {
    /// Memory that no record announced.
    Unknown,
    /// Context and call site of the allocation. Context 0 (the root): any.
    Block {
        /// Calling context of the allocation; 0: any.
        context: ContextNumber,
        /// Segment of the call of the allocator, if it has one.
        segment: Option<SegmentNumber>,
    },
    /// A file by its number ([`Objects::file`]), or memory of the kernel's.
    Mapping {
        /// Calling context of the call; 0: any.
        context: ContextNumber,
        /// Segment of the call, if it has one.
        segment: Option<SegmentNumber>,
        /// Number of the mapped file.
        file: Option<u32>,
    },
    /// Table and number in [`crate::sites::SiteTable::data`].
    Datum {
        /// Number of the table.
        table: u32,
        /// Number in the table's data.
        datum: u32,
    },
    /// Table and number in [`crate::sites::SiteTable::slots`].
    Slot {
        /// Number of the table.
        table: u32,
        /// Number in the table's slots.
        slot: u32,
    },
}

/// The call of an allocation: calling context and call site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The calling context.
    pub context: ContextNumber,
    /// The call site's segment; none in code without hooks.
    pub segment: Option<SegmentNumber>,
}

/// How often memory of an object began to live, and how much.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Life {
    /// Blocks, mappings, activations.
    pub times: u64,
    /// Bytes of all of them.
    pub bytes: u64,
    /// Bytes at once: now, and the most.
    pub live: u64,
    /// Most bytes that lived at one time.
    pub peak: u64,
}

impl Life {
    fn start(&mut self, bytes: u64) {
        self.times += 1;
        self.bytes += bytes;
        self.grow(bytes);
    }

    fn grow(&mut self, bytes: u64) {
        self.live += bytes;
        self.peak = self.peak.max(self.live);
    }

    /// Some of it may have been taken away unseen.
    fn end(&mut self, bytes: u64) {
        self.live = self.live.saturating_sub(bytes);
    }
}

/// The objects of one ring.
pub struct Objects {
    map: AddressMap,
    list: Vec<Object>,
    /// By number.
    lives: Vec<Life>,
    numbers: HashMap<Object, ObjectNumber, FastHash>,
    files: Vec<String>,
    /// By table and number of the slot.
    slots: HashMap<(u32, u32), ObjectNumber, FastHash>,
    extents: Extents,
    /// Where blocks begin, if that is to be known.
    starts: Option<Box<Starts>>,
}

impl Default for Objects {
    fn default() -> Self {
        Self {
            map: AddressMap::default(),
            list: vec![Object::Unknown],
            lives: vec![Life::default()],
            numbers: HashMap::default(),
            files: Vec::new(),
            slots: HashMap::default(),
            extents: Extents::default(),
            starts: None,
        }
    }
}

/// What lies where.
impl Objects {
    /// Keeps where blocks begin, from now on.
    pub fn keep_starts(&mut self) {
        self.starts = Some(Box::default());
    }

    /// Where the block, mapping or variable around an address begins, if that is kept and known.
    #[must_use]
    pub fn start_of(&self, address: u64) -> Option<u64> {
        self.starts.as_ref()?.start_of(address)
    }

    /// Number of the object at an address; [`NOTHING`] is [`Object::Unknown`].
    #[inline]
    pub fn object_at(&mut self, address: u64) -> ObjectNumber {
        self.map.number_at(address)
    }

    /// Number of the object that a whole range belongs to, if it is one.
    pub fn object_of(&mut self, address: u64, len: u64) -> Option<ObjectNumber> {
        self.map.number_of(address, len)
    }

    /// Number of the object that a row of accesses goes to, if it is one.
    pub fn whole_stream(&mut self, stream: &Stream, accesses: u64) -> Option<ObjectNumber> {
        let travelled = stream.stride.unsigned_abs().checked_mul(accesses.checked_sub(1)?)?;
        let low = if stream.stride < 0 { stream.addr.checked_sub(travelled)? } else { stream.addr };
        self.object_of(low, travelled + u64::from(stream.len))
    }

    /// What an object is.
    #[must_use]
    pub fn object(&self, number: ObjectNumber) -> Object {
        self.list[number.index()]
    }

    /// All objects, by number.
    #[must_use]
    pub fn list(&self) -> &[Object] {
        &self.list
    }

    /// Path of a mapped file.
    #[must_use]
    pub fn file(&self, file: u32) -> &str {
        &self.files[file as usize]
    }

    /// All objects, their lives and what was read of the parts of their large blocks, by number; the paths of mapped
    /// files.
    #[must_use]
    pub fn into_parts(self) -> (Vec<Object>, Vec<Life>, Vec<Option<Parts>>, Vec<String>) {
        (self.list, self.lives, self.extents.into_parts(), self.files)
    }

    /// Counts a read of an object by its place in its block.
    #[inline]
    pub fn read(&mut self, object: ObjectNumber, address: u64, len: u64) {
        self.extents.read(object, address, len);
    }

    /// Counts a row of reads of an object by their places in its block.
    pub fn reads(&mut self, object: ObjectNumber, stream: &Stream, times: u64) {
        self.extents.reads(object, stream, times);
    }

    /// Counts the reads of rows of accesses, of which each row goes to one object, by their places in its block.
    pub fn read_rows(&mut self, streams: &[Stream], times: u64) {
        for stream in streams.iter().filter(|stream| stream.kind == Kind::Load && times > 0) {
            let object = self.object_at(stream.addr);
            self.reads(object, stream, times);
        }
    }

    /// Memory held, in bytes.
    #[must_use]
    pub fn heap_bytes(&self) -> u64 {
        self.map.heap_bytes() + self.extents.heap_bytes()
    }
}

/// Lives of memory.
impl Objects {
    /// The module's variables are there from now on.
    pub fn add_module(&mut self, module: &Module) {
        let table = &module.placed.table;
        let bias = module.placed.low.wrapping_sub(table.section_address);
        for (datum, at) in table.data.iter().enumerate() {
            let number = self.number(Object::Datum { table: module.placed.id, datum: datum as u32 });
            self.lives[number.index()].start(at.size);
            self.fill(bias.wrapping_add(at.address), at.size, number);
        }
    }

    /// A block of the heap starts.
    pub fn allocated(&mut self, address: u64, len: u64, origin: Origin) {
        let Origin { context, segment } = origin;
        let number = self.number_of_origin(
            Object::Block { context, segment },
            Object::Block { context: ContextNumber::ROOT, segment },
        );
        self.lives[number.index()].start(len);
        self.fill(address, len, number);
    }

    /// Memory is mapped; the name of the file is empty if there is none.
    pub fn mapped(&mut self, address: u64, len: u64, file: &str, origin: Origin) {
        let Origin { context, segment } = origin;
        let file = (!file.is_empty()).then(|| self.file_number(file));
        let coarse = Object::Mapping { context: ContextNumber::ROOT, segment, file };
        let number = self.number_of_origin(Object::Mapping { context, segment, file }, coarse);
        self.ended(address, len);
        self.lives[number.index()].start(len);
        self.fill(address, len, number);
    }

    /// Bytes end: a block was freed, a mapping removed, a variable's scope left.
    pub fn ended(&mut self, address: u64, len: u64) {
        let number = self.map.number_at(address);
        self.lives[number.index()].end(len);
        self.fill(address, len, NOTHING);
    }

    /// A block moves, or changes its size: it stays what it is. One that was not known starts here.
    pub fn relocated(&mut self, from: u64, from_len: u64, to: u64, to_len: u64, origin: Origin) {
        let number = self.map.number_at(from);
        self.fill(from, from_len, NOTHING);
        if number == NOTHING {
            self.allocated(to, to_len, origin);
        } else {
            let life = &mut self.lives[number.index()];
            life.end(from_len);
            life.bytes += to_len.saturating_sub(from_len);
            life.grow(to_len);
            self.fill(to, to_len, number);
        }
    }

    /// A variable on the stack starts its life.
    pub fn slot_starts(&mut self, table: u32, slot: u32, address: u64, len: u64) {
        let number = match self.slots.get(&(table, slot)) {
            Some(known) => *known,
            None => {
                let number = self.number(Object::Slot { table, slot });
                self.slots.insert((table, slot), number);
                number
            }
        };
        self.lives[number.index()].start(len);
        self.fill(address, len, number);
    }

    /// Memory belongs to an object from now on, as one block; to [`NOTHING`] when it ends.
    fn fill(&mut self, address: u64, len: u64, number: ObjectNumber) {
        self.map.fill(address, len, number);
        if number == NOTHING {
            self.extents.end(address, len);
        } else {
            self.extents.start(address, len, number);
        }
        match &mut self.starts {
            Some(starts) if number == NOTHING => starts.end(address, len),
            Some(starts) => starts.begin(address, len),
            None => {}
        }
    }

    fn number_of_origin(&mut self, object: Object, coarse: Object) -> ObjectNumber {
        match self.numbers.get(&object) {
            Some(known) => *known,
            None if self.list.len() < MANY => self.number(object),
            None => self.number(coarse),
        }
    }

    fn number(&mut self, object: Object) -> ObjectNumber {
        let (list, lives) = (&mut self.list, &mut self.lives);
        *self.numbers.entry(object).or_insert_with(|| {
            list.push(object);
            lives.push(Life::default());
            ObjectNumber::new(list.len() - 1)
        })
    }

    fn file_number(&mut self, file: &str) -> u32 {
        let known = self.files.iter().position(|known| known == file);
        known.unwrap_or_else(|| {
            self.files.push(file.to_owned());
            self.files.len() - 1
        }) as u32
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        decode::locator::{FunctionNumber, Placed},
        sites::{Datum, SiteTable},
    };

    const SITE: Option<SegmentNumber> = Some(SegmentNumber::new(10));
    const HERE: Origin = Origin { context: ContextNumber::new(3), segment: SITE };
    const THERE: Origin = Origin { context: ContextNumber::new(4), segment: SITE };

    fn block(origin: Origin) -> Object {
        Object::Block { context: origin.context, segment: origin.segment }
    }

    fn object_at(objects: &mut Objects, address: u64) -> Object {
        let number = objects.object_at(address);
        objects.object(number)
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
        assert_eq!(objects.object_of(0x1000, 64).map(|n| objects.object(n)), Some(block(HERE)));
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
            Object::Mapping { file, .. } => file.map(|file| objects.file(file).to_owned()),
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
        assert_eq!(objects.list().len(), MANY + 1);
    }
}
