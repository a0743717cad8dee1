//! What one ring's loops moved, in the ring's numbers.

use super::{
    arrays::Arrays,
    elements::{Elements, TileSet},
    loops::{LoopNumber, SourceLoop},
    movement::Movement,
    nest::LevelNumber,
    rows::RowResult,
};
use crate::{
    abi::NONE,
    decode::ring::DecodedRing,
    objects::{Object, ObjectNumber},
};

/// A loop: table of its module, and number among the [`super::loops::ModuleLoops`] of that table.
pub type LoopKey = (u32, LoopNumber);

/// A loop in its nest; parents come first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LevelResult {
    /// The level around it.
    pub parent: Option<LevelNumber>,
    /// Which loop it is.
    pub key: LoopKey,
    /// Index into the table's functions.
    pub function: u32,
    /// Index into the table's frames, if the place is known.
    pub frame: Option<u32>,
    /// Loops of the machine code that it is.
    pub parts: u32,
    /// Iterations that accessed something.
    pub tiles: u64,
    /// How often the loop was begun.
    pub invocations: u64,
    /// Most bytes that one tile touched.
    pub capacity: u64,
}

/// An array of one ring.
#[derive(Clone, Debug)]
pub struct ArrayResult {
    /// Which object it is.
    pub object: Object,
    /// Bytes of an element.
    pub element: u64,
    /// One in `1 << sampling` pages was followed.
    pub sampling: u8,
}

/// Data motion of one ring.
#[derive(Debug, Default)]
pub struct RingMotion {
    /// Its loops; parents come first.
    pub levels: Vec<LevelResult>,
    /// Counts by level and array.
    pub rows: Vec<RowResult>,
    /// Its arrays.
    pub arrays: Vec<ArrayResult>,
    /// Paths of mapped files.
    pub files: Vec<String>,
    /// What each tile touched, if that was to be written down.
    pub tiles: Vec<TileSet>,
    /// There was more than could be written down.
    pub tiles_cut: bool,
    /// Some loops were not kept apart from those around them: there were too many.
    pub levels_cut: bool,
}

impl RingMotion {
    /// Modules are those of the ring in order: table and its loops.
    #[must_use]
    pub fn new(
        modules: &[(u32, Vec<SourceLoop>)],
        movement: &Movement,
        arrays: Arrays,
        elements: Option<Elements>,
    ) -> Self {
        let mut loops: Vec<(LoopKey, SourceLoop)> = Vec::new();
        for (table, of_module) in modules {
            loops.extend(of_module.iter().enumerate().map(|(n, l)| ((*table, LoopNumber::new(n)), *l)));
        }
        let levels = movement.nest.levels.iter().map(|level| {
            let (key, source) = loops[level.number.index()];
            LevelResult {
                parent: level.parent,
                key,
                function: source.function,
                frame: Some(source.frame).filter(|f| *f != NONE),
                parts: source.parts,
                tiles: level.tiles,
                invocations: level.invocations,
                capacity: level.capacity,
            }
        });
        let array = |(number, object): (usize, &Object)| ArrayResult {
            object: *object,
            element: arrays.element(ObjectNumber::new(number)),
            sampling: movement.stamps.sampling(ObjectNumber::new(number)),
        };
        let all = arrays.objects.table.list().iter().enumerate().map(array).collect();
        let (tiles, tiles_cut) = elements.map_or((Vec::new(), false), Elements::finish);
        Self {
            levels: levels.collect(),
            rows: movement.inclusive_rows(),
            arrays: all,
            files: arrays.objects.into_parts().3,
            tiles,
            tiles_cut,
            levels_cut: movement.nest.cut,
        }
    }
}

/// What a ring's replay gave.
pub struct MotionResult {
    /// The program's side of the ring.
    pub ring: DecodedRing,
    /// What moved.
    pub motion: RingMotion,
}
