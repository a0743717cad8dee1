//! The loops of one module as the analysis counts them: by their place in the source.
//!
//! Takes the marks in a [`SiteTable`], gives its [`ModuleLoops`]. An optimiser may make several loops of one (a
//! vectorised one and what is left over, versions for different strides): those of one function that begin at the same
//! place inside the same loop are one loop again. Loops whose place is not known stay apart.

use std::collections::{BTreeMap, HashMap};

use crate::{
    abi::{ItemKind, NONE, loop_flag},
    numbers::niche_number,
    sites::{Segment, SiteTable},
};

niche_number! {
    /// Number of a loop in its module: index into [`ModuleLoops::loops`].
    LoopNumber
}

/// A loop of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceLoop {
    /// The loop around it in the same function; it comes before this one.
    pub parent: Option<LoopNumber>,
    /// Index into [`SiteTable::functions`].
    pub function: u32,
    /// Index into [`SiteTable::frames`], or [`NONE`].
    pub frame: u32,
    /// Loops of the machine code that it is.
    pub parts: u32,
}

/// Where a segment stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentLoop {
    /// The loop that it is in.
    pub number: Option<LoopNumber>,
    /// An iteration begins.
    pub iteration: bool,
}

/// The loops of one module.
#[derive(Debug, Default)]
pub struct ModuleLoops {
    /// Its loops, in the order of the descriptors.
    pub loops: Vec<SourceLoop>,
    /// One per segment of the table.
    pub segments: Vec<SegmentLoop>,
}

/// A loop as marks name it: function, number in it.
type Mark = (u32, u32);

impl ModuleLoops {
    /// The loops that a table describes.
    #[must_use]
    pub fn from_sites(table: &SiteTable) -> Self {
        // Outer loops have lower numbers, so that parents come first.
        let mut marked: BTreeMap<Mark, (i64, u32)> = BTreeMap::new();
        for segment in &table.segments {
            if let Some((number, parent, frame, _)) = mark_of(segment, table) {
                marked.insert((segment.function, number), (parent, frame));
            }
        }
        let mut loops: Vec<SourceLoop> = Vec::new();
        let mut of_mark: HashMap<Mark, LoopNumber> = HashMap::new();
        let mut known: HashMap<(u32, Option<LoopNumber>, u32), LoopNumber> = HashMap::new();
        for (&(function, number), &(parent, frame)) in &marked {
            let parent = u32::try_from(parent).ok().and_then(|p| of_mark.get(&(function, p)).copied());
            let new = LoopNumber::new(loops.len());
            let same = if frame == NONE { new } else { *known.entry((function, parent, frame)).or_insert(new) };
            if same == new {
                loops.push(SourceLoop { parent, function, frame, parts: 0 });
            }
            loops[same.index()].parts += 1;
            of_mark.insert((function, number), same);
        }
        let place = |segment: &Segment| match mark_of(segment, table) {
            Some((number, _, _, iteration)) => {
                SegmentLoop { number: Some(of_mark[&(segment.function, number)]), iteration }
            }
            None => SegmentLoop { number: None, iteration: false },
        };
        Self { segments: table.segments.iter().map(place).collect(), loops }
    }
}

/// Number, parent's number or -1, frame, whether an iteration begins.
fn mark_of(segment: &Segment, table: &SiteTable) -> Option<(u32, i64, u32, bool)> {
    let items = &table.items[segment.items.start as usize..segment.items.end as usize];
    let mark = items.first().filter(|item| item.kind == ItemKind::Loop as u8)?;
    Some((mark.size, mark.offset, mark.frame, mark.flags & loop_flag::ITERATION != 0))
}
