//! The sum over rings: levels are one if their loops are, arrays if their objects are.
//!
//! Bytes and accesses add up, so that bytes that several threads touch count once for each. Peaks and capacities are
//! the largest of any thread, as each thread has iterations of its own.

use std::collections::{BTreeMap, HashMap};

use super::{
    elements::TileSet,
    nest::LevelNumber,
    result::{LevelResult, LoopKey, RingMotion},
    rows::RowResult,
};
use crate::{counts::keys::ObjectKey, decode::context::ContextNumber, objects::ObjectNumber};

/// An array of the whole run.
#[derive(Clone, Debug)]
pub struct MergedArray {
    /// What it is.
    pub key: ObjectKey,
    /// Bytes of an element; 0: not known.
    pub element: u64,
    /// One in `1 << sampling` pages was followed.
    pub sampling: u8,
}

/// Data motion of the whole run, all rings added up.
#[derive(Debug, Default)]
pub struct MergedMotion {
    /// Parents come first.
    pub levels: Vec<LevelResult>,
    /// Its arrays, in the order of their keys.
    pub arrays: Vec<MergedArray>,
    /// By level and array.
    pub rows: BTreeMap<(LevelNumber, ObjectNumber), RowResult>,
    /// By thread.
    pub tiles: Vec<Vec<TileSet>>,
    /// Some tiles are not listed, as there are too many.
    pub tiles_cut: bool,
    /// Some loops in their nests are not listed, as there are too many.
    pub levels_cut: bool,
    level_of: HashMap<(Option<LevelNumber>, LoopKey), LevelNumber>,
    array_of: BTreeMap<ObjectKey, ObjectNumber>,
}

impl MergedMotion {
    /// Adds a ring's; `keys` are its arrays'.
    pub fn add(&mut self, ring: RingMotion, keys: Vec<ObjectKey>) {
        let arrays: Vec<MergedArray> = (ring.arrays.iter().zip(keys))
            .map(|(array, key)| MergedArray { key, element: array.element, sampling: array.sampling })
            .collect();
        let tiles = if ring.tiles.is_empty() { Vec::new() } else { vec![ring.tiles] };
        self.levels_cut |= ring.levels_cut;
        self.add_all(&ring.levels, &arrays, ring.rows, tiles, ring.tiles_cut);
    }

    /// Adds what another worker has merged; `nodes` are the contexts that its own are here.
    pub fn absorb(&mut self, mut other: Self, nodes: &[ContextNumber]) {
        for array in &mut other.arrays {
            array.key = array.key.clone().with_contexts(nodes);
        }
        self.levels_cut |= other.levels_cut;
        self.add_all(&other.levels, &other.arrays, other.rows.into_values(), other.tiles, other.tiles_cut);
    }

    fn add_all(
        &mut self,
        levels: &[LevelResult],
        arrays: &[MergedArray],
        rows: impl IntoIterator<Item = RowResult>,
        tiles: Vec<Vec<TileSet>>,
        tiles_cut: bool,
    ) {
        let mut level_numbers: Vec<LevelNumber> = Vec::with_capacity(levels.len());
        for level in levels {
            let parent = level.parent.map(|p| level_numbers[p.index()]);
            level_numbers.push(self.add_level(level, parent));
        }
        let array_numbers: Vec<ObjectNumber> = arrays.iter().map(|array| self.add_array(array)).collect();
        for row in rows {
            let (level, array) = (level_numbers[row.level.index()], array_numbers[row.array.index()]);
            let sum = self.rows.entry((level, array)).or_insert(RowResult::new(level, array));
            sum.accesses += row.accesses;
            sum.accessed += row.accessed;
            sum.fills += row.fills;
            sum.kept += row.kept;
            sum.footprint += row.footprint;
            sum.peak = sum.peak.max(row.peak);
        }
        for mut thread in tiles {
            for tile in &mut thread {
                tile.level = level_numbers[tile.level.index()];
                tile.arrays.iter_mut().for_each(|(array, _)| *array = array_numbers[array.index()]);
            }
            self.tiles.push(thread);
        }
        self.tiles_cut |= tiles_cut;
    }

    fn add_level(&mut self, level: &LevelResult, parent: Option<LevelNumber>) -> LevelNumber {
        let levels = &mut self.levels;
        let number = *self.level_of.entry((parent, level.key)).or_insert_with(|| {
            levels.push(LevelResult { parent, tiles: 0, invocations: 0, capacity: 0, ..level.clone() });
            LevelNumber::new(levels.len() - 1)
        });
        let known = &mut levels[number.index()];
        known.tiles += level.tiles;
        known.invocations += level.invocations;
        known.capacity = known.capacity.max(level.capacity);
        number
    }

    fn add_array(&mut self, array: &MergedArray) -> ObjectNumber {
        let arrays = &mut self.arrays;
        let number = *self.array_of.entry(array.key.clone()).or_insert_with(|| {
            arrays.push(array.clone());
            ObjectNumber::new(arrays.len() - 1)
        });
        let known = &mut arrays[number.index()];
        known.element = known.element.max(array.element);
        known.sampling = known.sampling.max(array.sampling);
        number
    }
}
