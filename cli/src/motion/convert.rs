//! Turns what the analysis measured into a [`Motion`]: names instead of numbers, and an order that depends on nothing
//! but them.

use std::collections::BTreeMap;

use dmdprof_runtime::{
    abi::{Frame, NONE},
    analysis::{Measurement, ObjectKey},
    decode::context::ContextNumber,
    motion::{
        merge::{MergedArray, MergedMotion},
        result::LevelResult,
    },
    sites::SiteTable,
};

use super::{
    model::{Array, ArrayKind, Level, Motion, Position, Row, Tile},
    sources::Sources,
};
use crate::{
    profile::model::Outcome,
    shared::names::{self, demangle},
};

/// The motion that a measurement holds.
#[must_use]
pub fn to_motion(measurement: &Measurement, command: Vec<String>, outcome: Outcome) -> Motion {
    let nothing = MergedMotion::default();
    let merged = measurement.motion.as_ref().unwrap_or(&nothing);
    let mut names = Names { measurement, sources: Sources::default() };
    let levels: Vec<Level> = merged.levels.iter().map(|level| names.level(level)).collect();
    // Nothing in them was accessed, and so nothing inside them.
    let idle: Vec<bool> = levels.iter().map(|level| level.iterations == 0).collect();
    let used: Vec<bool> = used_arrays(merged);
    let callers = merged.arrays.iter().map(|array| names.callers(array)).collect();
    let arrays = unique(merged.arrays.iter().map(|array| names.array(array)).collect(), callers, &used);
    let new_levels = nest_order(&levels, &idle);
    let new_arrays = array_order(&arrays, &used);
    let mut rows: Vec<Row> = (merged.rows.values())
        .map(|row| Row {
            level: new_levels[row.level.index()],
            array: new_arrays[row.array.index()],
            accesses: row.accesses,
            accessed: row.accessed,
            fills: row.fills,
            kept: row.kept,
            footprint: row.footprint,
            peak: row.peak,
        })
        .collect();
    rows.sort_by_key(|row| (row.level, row.array));
    let parent = |level: &Level| level.parent.map(|parent| new_levels[parent as usize]);
    let levels = levels.into_iter().map(|level| Level { parent: parent(&level), ..level });
    Motion {
        tool_version: env!("CARGO_PKG_VERSION").into(),
        command,
        outcome,
        threads: measurement.threads.len() as u64,
        accesses: measurement.threads.iter().map(|t| t.ring.accesses).sum(),
        lost_events: measurement.threads.iter().map(|t| t.ring.lost_words).sum::<u64>() + measurement.refused,
        levels: placed(levels, &new_levels),
        arrays: placed(arrays.into_iter(), &new_arrays),
        rows,
        tiles: tiles(merged, &new_levels, &new_arrays),
        tiles_cut: merged.tiles_cut,
        levels_cut: merged.levels_cut,
    }
}

fn used_arrays(merged: &MergedMotion) -> Vec<bool> {
    let mut used = vec![false; merged.arrays.len()];
    merged.rows.values().for_each(|row| used[row.array.index()] = true);
    used
}

const GONE: u32 = u32::MAX;

/// Puts each thing where its new number says; those without one are gone.
fn placed<T>(things: impl Iterator<Item = T>, numbers: &[u32]) -> Vec<T> {
    let mut all: Vec<(u32, T)> = numbers.iter().copied().zip(things).filter(|(n, _)| *n != GONE).collect();
    all.sort_by_key(|(number, _)| *number);
    all.into_iter().map(|(_, thing)| thing).collect()
}

/// New numbers: nests from the outside in, by place in the source.
fn nest_order(levels: &[Level], idle: &[bool]) -> Vec<u32> {
    let mut inside: BTreeMap<Option<u32>, Vec<u32>> = BTreeMap::new();
    for (number, level) in levels.iter().enumerate().filter(|(number, _)| !idle[*number]) {
        inside.entry(level.parent).or_default().push(number as u32);
    }
    for children in inside.values_mut() {
        let key = |n: &u32| {
            let level = &levels[*n as usize];
            (level.place.clone(), level.function.clone(), level.iterations, level.capacity)
        };
        children.sort_by_key(key);
    }
    let mut numbers = vec![GONE; levels.len()];
    let mut next = 0;
    let mut stack: Vec<u32> = inside.get(&None).into_iter().flatten().rev().copied().collect();
    while let Some(level) = stack.pop() {
        numbers[level as usize] = next;
        next += 1;
        stack.extend(inside.get(&Some(level)).into_iter().flatten().rev());
    }
    numbers
}

fn array_order(arrays: &[Array], used: &[bool]) -> Vec<u32> {
    let mut order: Vec<usize> = (0..arrays.len()).filter(|n| used[*n]).collect();
    order.sort_by(|a, b| (arrays[*a].kind, &arrays[*a].name).cmp(&(arrays[*b].kind, &arrays[*b].name)));
    let mut numbers = vec![GONE; arrays.len()];
    order.into_iter().enumerate().for_each(|(new, old)| numbers[old] = new as u32);
    numbers
}

/// Arrays of one name get their place added, those of one place the caller that tells them apart, and what is still
/// alike a number.
fn unique(mut arrays: Vec<Array>, callers: Vec<Vec<String>>, used: &[bool]) -> Vec<Array> {
    let same = |arrays: &[Array]| {
        let mut of_name: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        let known = arrays.iter().enumerate().filter(|(number, _)| used[*number]);
        known.for_each(|(number, array)| of_name.entry(array.name.clone()).or_default().push(number));
        of_name.into_values().filter(|numbers| numbers.len() > 1).collect::<Vec<_>>()
    };
    for numbers in same(&arrays) {
        for number in numbers {
            let array = &mut arrays[number];
            if let Some(place) = &array.place {
                array.name = format!("{} ({})", array.name, short(place));
            }
        }
    }
    for numbers in same(&arrays) {
        for &number in &numbers {
            let own = &callers[number];
            let like_own = |depth: usize| {
                numbers.iter().filter(|other| callers[**other].get(..depth) == Some(&own[..depth])).count()
            };
            if let Some(depth) = (1..=own.len()).find(|depth| like_own(*depth) == 1) {
                arrays[number].name += &format!(" of {}", own[depth - 1]);
            }
        }
    }
    for numbers in same(&arrays) {
        for (nth, number) in (1..).zip(numbers) {
            arrays[number].name += &format!(" #{nth}");
        }
    }
    arrays
}

/// `kernel.c:12`; `kernel.c:?` of code that belongs to no line.
#[must_use]
pub fn short(place: &Position) -> String {
    names::place(place.file.rsplit('/').next().unwrap_or(&place.file), place.line)
}

fn tiles(merged: &MergedMotion, levels: &[u32], arrays: &[u32]) -> Vec<Vec<Tile>> {
    let mut threads: Vec<Vec<Tile>> = Vec::new();
    for thread in &merged.tiles {
        let tile = |tile: &dmdprof_runtime::motion::elements::TileSet| Tile {
            level: levels[tile.level.index()],
            timestamp: tile.timestamp.clone(),
            first: tile.first,
            arrays: tile.arrays.iter().map(|(array, places)| (arrays[array.index()], places.clone())).collect(),
        };
        let mut tiles: Vec<Tile> = thread.iter().map(tile).collect();
        tiles.iter_mut().for_each(|tile| tile.arrays.sort());
        tiles.sort_by_key(|tile| tile.level);
        threads.push(tiles);
    }
    threads.sort_by(|a, b| {
        let key = |tile: &Tile| (tile.level, tile.timestamp.clone(), tile.arrays.clone());
        a.iter().map(key).cmp(b.iter().map(key))
    });
    threads
}

struct Names<'a> {
    measurement: &'a Measurement,
    sources: Sources,
}

impl Names<'_> {
    fn table(&self, table: u32) -> &SiteTable {
        &self.measurement.tables[table as usize].1
    }

    fn text(&self, table: u32, string: u32) -> Option<&str> {
        if string == NONE { None } else { self.table(table).strings.get(string as usize).map(String::as_str) }
    }

    fn level(&mut self, level: &LevelResult) -> Level {
        let table = level.key.0;
        let frame = level.frame.and_then(|frame| self.own_frame(table, frame));
        let place = frame.and_then(|frame| self.place(table, &frame));
        let linked = self.table(table).functions[level.function as usize].name;
        let function = frame.map_or(linked, |frame| frame.function);
        let variable = place.as_ref().and_then(|p| self.sources.loop_variable(&p.file, p.line, p.column));
        Level {
            parent: level.parent.map(|parent| parent.index() as u32),
            variable,
            function: demangle(self.text(table, function).unwrap_or_default()),
            place,
            parts: level.parts,
            iterations: level.tiles,
            entries: level.invocations,
            capacity: level.capacity,
        }
    }

    /// The frame itself or, in a library that came compiled, where the program called it.
    fn own_frame(&self, table: u32, frame: u32) -> Option<Frame> {
        let frames = &self.table(table).frames;
        let first = *frames.get(frame as usize)?;
        let mut at = first;
        loop {
            if self.text(table, at.file).is_some_and(|file| !is_library(file)) {
                return Some(at);
            }
            match frames.get(at.parent as usize) {
                Some(parent) => at = *parent,
                None => return Some(first),
            }
        }
    }

    fn place(&self, table: u32, frame: &Frame) -> Option<Position> {
        let file = self.text(table, frame.file)?.to_owned();
        (frame.line > 0).then_some(Position { file, line: frame.line, column: frame.column })
    }

    fn array(&mut self, array: &MergedArray) -> Array {
        let (name, kind, place) = match &array.key {
            ObjectKey::Unknown => ("(other memory)".to_owned(), ArrayKind::Other, None),
            ObjectKey::Block { context, site } => {
                let (name, place) = self.allocation(*context, *site);
                (name.unwrap_or_else(|| "block".into()), ArrayKind::Heap, place)
            }
            ObjectKey::Mapping { context, site, file } => {
                let (name, place) = self.allocation(*context, *site);
                let file = file.as_ref().map(|file| file.rsplit('/').next().unwrap_or(file).to_owned());
                (file.or(name).unwrap_or_else(|| "mapping".into()), ArrayKind::Mapping, place)
            }
            ObjectKey::Datum { table, datum } => {
                let datum = &self.table(*table).data[*datum as usize];
                let name = if datum.is_section { format!("section {}", datum.name) } else { demangle(&datum.name) };
                (name, ArrayKind::Global, None)
            }
            ObjectKey::Slot { table, slot } => self.slot(*table, *slot),
        };
        Array { name, kind, place, element: array.element, sampling: 1 << array.sampling }
    }

    /// What an allocation goes to, and where that is: the call itself, or the innermost place of the program's own in
    /// what calls it.
    fn allocation(&mut self, context: ContextNumber, site: Option<(u32, u32)>) -> (Option<String>, Option<Position>) {
        let Some((table, segment)) = site else { return (None, None) };
        let frame = self.table(table).segments[segment as usize].frame;
        let frame = if frame == NONE { None } else { self.own_frame(table, frame) };
        let Some(place) = frame.and_then(|frame| self.place(table, &frame)) else {
            let function = self.measurement.contexts.get(context.index()).and_then(|c| c.function);
            let name = function.and_then(|(table, f)| self.text(table, self.table(table).functions[f as usize].name));
            return (name.map(|name| format!("block of {}", demangle(name))), None);
        };
        (self.sources.assigned(&place.file, place.line, place.column), Some(place))
    }

    /// The functions that were running when an array was allocated, innermost first.
    fn callers(&self, array: &MergedArray) -> Vec<String> {
        let (ObjectKey::Block { context, .. } | ObjectKey::Mapping { context, .. }) = &array.key else {
            return Vec::new();
        };
        let contexts = &self.measurement.contexts;
        let mut chain = Vec::new();
        let mut at = contexts.get(context.index());
        while let Some((table, function)) = at.and_then(|context| context.function) {
            let name = self.text(table, self.table(table).functions[function as usize].name).unwrap_or_default();
            chain.push(demangle(name));
            at = at.and_then(|context| contexts.get(context.parent.index()));
        }
        chain
    }

    fn slot(&self, table: u32, slot: u32) -> (String, ArrayKind, Option<Position>) {
        let known = &self.table(table).slots[slot as usize];
        let function = || demangle(self.text(table, known.function).unwrap_or_default());
        let name = self.text(table, known.name).map_or_else(|| format!("unnamed of {}", function()), str::to_owned);
        let file = self.text(table, known.file);
        let place = file.map(|file| Position { file: file.to_owned(), line: known.line, column: 0 });
        (name, ArrayKind::Stack, place)
    }
}

/// Paths that rustc gives the sources of the standard library.
#[must_use]
pub fn is_library(file: &str) -> bool {
    file.starts_with("/rustc/") || file.contains("/lib/rustlib/src/")
}
