//! Names of data objects, and which are shown as one.
//!
//! A heap block is named by the functions that allocate it, innermost first, without the allocator's own wrappers:
//! functions that many others call to allocate. Blocks of the same two functions are one group, or of the same whole
//! calling context if that is asked for.

use std::collections::{BTreeMap, BTreeSet};

use crate::profile::{
    Profile,
    model::{ContextId, DataObject, FunctionId, ObjectId, ObjectKind, PositionId, StringId},
};
use crate::shared::names::{self, demangle, is_library_file};

/// A function with so many callers below which blocks are allocated is a wrapper of the allocator.
const MANY_CALLERS: usize = 3;
/// Functions in a heap block's name.
const FRAMES: usize = 2;

/// Objects that are shown as one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    pub kind: ObjectKind,
    pub name: String,
    /// `FILE:LINE` of the declaration or of the allocation, or name of the program or library.
    pub place: Option<String>,
    /// Of the allocation, within its line; 0 if not known.
    pub column: u32,
    pub times: u128,
    pub bytes: u128,
    pub peak: u128,
    /// Bytes read of each 64th of large blocks; empty without such blocks.
    pub parts: Vec<u128>,
}

/// All objects of a profile in groups.
pub struct Groups {
    pub list: Vec<Group>,
    /// By object.
    group_of: Vec<usize>,
}

impl Groups {
    /// `contexts`: heap blocks of different calling contexts are different groups.
    #[must_use]
    pub fn from_profile(profile: &Profile, contexts: bool) -> Self {
        let objects = profile.objects.as_ref().map_or(&[][..], |objects| &objects.list);
        let naming = Naming { profile };
        let chains: Vec<Vec<Frame>> = objects.iter().map(|object| naming.chain(object)).collect();
        let wrappers = Wrappers::from_chains(&chains);
        let mut groups = Groups { list: Vec::new(), group_of: Vec::new() };
        let mut known: BTreeMap<(ObjectKind, String, Option<String>, u32), usize> = BTreeMap::new();
        for (object, chain) in objects.iter().zip(&chains) {
            let skipped = if contexts { 0 } else { wrappers.prefix(chain) };
            let frames = &chain[skipped..];
            let shown = if contexts { frames } else { &frames[..frames.len().min(FRAMES)] };
            let (name, place) = naming.name(object, shown);
            // Two allocations on one line are two objects.
            let column =
                if object.kind == ObjectKind::Heap { shown.first().map_or(0, |frame| frame.column) } else { 0 };
            let group = *known.entry((object.kind, name.clone(), place.clone(), column)).or_insert_with(|| {
                groups.list.push(Group {
                    kind: object.kind,
                    name,
                    place,
                    column,
                    times: 0,
                    bytes: 0,
                    peak: 0,
                    parts: Vec::new(),
                });
                groups.list.len() - 1
            });
            let sums = &mut groups.list[group];
            sums.times += u128::from(object.times);
            sums.bytes += u128::from(object.bytes);
            sums.peak += u128::from(object.peak);
            sums.parts.resize(sums.parts.len().max(object.parts.len()), 0);
            sums.parts.iter_mut().zip(&object.parts).for_each(|(all, more)| *all += u128::from(*more));
            groups.group_of.push(group);
        }
        type OnALine<'a> = (ObjectKind, &'a str, &'a Option<String>);
        let mut columns: BTreeMap<OnALine, Vec<(u32, usize)>> = BTreeMap::new();
        for ((kind, name, place, column), group) in &known {
            columns.entry((*kind, name, place)).or_default().push((*column, *group));
        }
        for alike in columns.into_values().filter(|alike| alike.len() > 1) {
            for (column, group) in alike {
                let place = &mut groups.list[group].place;
                *place = place.take().map(|place| format!("{place}:{column}"));
            }
        }
        groups
    }

    /// The group of an object.
    #[must_use]
    pub fn of_object(&self, object: ObjectId) -> usize {
        self.group_of[object.index()]
    }
}

impl Group {
    /// In sentences: of what came from an allocator also where, as `heap main at a.c:12`.
    #[must_use]
    pub fn title(&self) -> String {
        let word = word(self.kind);
        let file = |place: &str| place.rsplit('/').next().unwrap_or(place).to_owned();
        match &self.place {
            Some(place) if self.kind == ObjectKind::Heap => format!("{word} {} at {}", self.name, file(place)),
            _ => format!("{word} {}", self.name),
        }
    }
}

/// The word for a kind of object.
#[must_use]
pub fn word(kind: ObjectKind) -> &'static str {
    match kind {
        ObjectKind::Unknown => "unknown",
        ObjectKind::Heap => "heap",
        ObjectKind::Mapping => "mapped",
        ObjectKind::Static => "static",
        ObjectKind::Section => "section",
        ObjectKind::Stack => "stack",
    }
}

/// A function on the way to an allocation, and where in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Frame {
    function: String,
    place: Option<String>,
    /// Within the line; 0 if not known.
    column: u32,
}

struct Naming<'p> {
    profile: &'p Profile,
}

impl Naming<'_> {
    fn text(&self, id: Option<StringId>) -> Option<&str> {
        id.map(|id| self.profile.strings[id.index()].as_str())
    }

    /// From the allocation outwards, without library code that the allocation goes through.
    fn chain(&self, object: &DataObject) -> Vec<Frame> {
        let Some(site) = object.site.map(|site| &self.profile.sites[site.index()]) else { return Vec::new() };
        let mut frames: Vec<(Frame, bool)> = Vec::new();
        let mut at = site.position;
        while let Some(position) = at.map(PositionId::index).map(|index| &self.profile.positions[index]) {
            let file = self.text(position.file);
            let place = file.map(|file| names::place(file, position.line));
            let function = self.function(position.function);
            let column = position.column;
            frames.push((Frame { function, place, column }, file.is_some_and(is_library_file)));
            at = position.inlined_at;
        }
        if frames.is_empty() {
            frames.push(self.linked(site.function));
        }
        // The innermost context is the linked function itself.
        let parent = |context: &ContextId| self.profile.contexts[context.index()].parent;
        let outer = std::iter::successors(object.context, parent).skip(1);
        frames.extend(outer.filter_map(|context| {
            self.profile.contexts[context.index()].function.map(|function| self.linked(function))
        }));
        let own = frames.iter().position(|(_, is_library)| !is_library).unwrap_or(0);
        frames.drain(..own);
        frames.into_iter().map(|(frame, _)| frame).collect()
    }

    fn linked(&self, function: FunctionId) -> (Frame, bool) {
        let at = &self.profile.functions[function.index()];
        let file = self.text(at.file);
        let place = file.map(|file| names::place(file, at.line));
        (Frame { function: self.function(function), place, column: 0 }, file.is_some_and(is_library_file))
    }

    fn function(&self, function: FunctionId) -> String {
        demangle(&self.profile.strings[self.profile.functions[function.index()].symbol.index()])
    }

    fn name(&self, object: &DataObject, frames: &[Frame]) -> (String, Option<String>) {
        let name = self.text(object.name);
        let functions: Vec<&str> = frames.iter().map(|frame| frame.function.as_str()).collect();
        let by_functions = if functions.is_empty() { "unknown code".into() } else { functions.join(" < ") };
        let allocated_at = frames.first().and_then(|frame| frame.place.clone());
        let module = self.text(object.module).map(str::to_owned);
        match object.kind {
            ObjectKind::Unknown => ("(not known)".into(), None),
            ObjectKind::Heap => (by_functions, allocated_at),
            ObjectKind::Mapping => (name.map_or(by_functions, str::to_owned), allocated_at),
            ObjectKind::Static => (demangle(name.unwrap_or_default()), module),
            ObjectKind::Section => (name.unwrap_or_default().to_owned(), module),
            ObjectKind::Stack => {
                let function = demangle(self.text(object.function).unwrap_or_default());
                let place = self.text(object.file).map(|file| names::place(file, object.line));
                (format!("{} of {function}", name.unwrap_or("(unnamed)")), place)
            }
        }
    }
}

/// Functions that only pass on the wish to allocate: by the functions from the allocation outwards, those that come
/// next.
struct Wrappers<'c> {
    callers: BTreeMap<&'c [Frame], BTreeSet<&'c str>>,
}

impl<'c> Wrappers<'c> {
    fn from_chains(chains: &'c [Vec<Frame>]) -> Self {
        let mut callers: BTreeMap<&[Frame], BTreeSet<&str>> = BTreeMap::new();
        for chain in chains {
            for len in 1..chain.len() {
                callers.entry(&chain[..len]).or_default().insert(&chain[len].function);
            }
        }
        Self { callers }
    }

    /// Frames of a chain that are wrappers: up to the last function with many callers, as long as there are some.
    fn prefix(&self, chain: &[Frame]) -> usize {
        // Far from the allocation a function with many callers is one that does the program's work.
        const NEAR: usize = 4;
        let is_wrapper =
            |len: &usize| self.callers.get(&chain[..*len]).is_some_and(|callers| callers.len() >= MANY_CALLERS);
        (1..chain.len().min(NEAR + 1)).rev().find(is_wrapper).unwrap_or(0)
    }
}
