//! What is known of a part of a trace once it was replayed on its own, and the file that this is kept in.
//!
//! Takes and gives [`Summary`]s. A file is a magic number, two blocks with their lengths and checksums (who it is, and
//! what was counted), and nothing else. Refuses, with what to do about it, anything that is not as it was written.
//!
//! ```text
//!   0 | 89 44 4d 44 53 0d 0a 0a | 0b 00 00 00 |      magic, version 11
//!  12 | Name | Summary |                             blocks of `packed`
//! ```
//!
//! The [`Name`] of the only part of a trace of `./item` is, before compression:
//!
//! ```text
//!   01 | 01 | 01                            part 1 to part 1 of 1
//!   8d e2 f6 91 0f | db 02                  the trace: checksum 0xf23db10d, 347 bytes
//!   01 06 2e 2f 69 74 65 6d | 00            command of one word, "./item"; no options
//! ```

use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize};

use super::{
    super::boundaries::Boundaries,
    counts::Counts,
    packed::{self, Unreadable},
    walk::Descriptors,
};
use crate::{
    cycles::MergedCycles,
    decode::{context::ContextNumber, locator::FunctionNumber},
    engine::{AccessTag, Kind},
    objects::layout_delta::LayoutDelta,
    trace::{End, Ring},
};

/// First bytes of a file of a slice.
const MAGIC: [u8; 8] = *b"\x89DMDS\r\n\n";
/// Bumped whenever the meaning of the bytes after it changes.
const VERSION: u32 = 12;

/// Whose part it is, and which.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Name {
    /// Its first part, from 1.
    pub first: u32,
    /// Its last part.
    pub last: u32,
    /// Of how many.
    pub parts: u32,
    /// Checksum of the trace's first bytes, and its length.
    pub trace: (u32, u64),
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Options of the analysis.
    pub analysis: Vec<String>,
}

/// What a part of a trace comes to.
#[derive(Debug, Serialize, Deserialize)]
pub struct Summary {
    /// Descriptors that are new in the part, in the order of the trace, and the number of those before.
    pub(super) modules_before: u32,
    pub(super) modules: Vec<Descriptors>,
    pub(super) rings: Vec<RingPart>,
    /// If the trace ends in the part.
    pub(super) end: Option<End>,
    pub(super) cut_at: Option<u64>,
}

/// What a part of a trace has of one ring.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RingPart {
    pub number: u32,
    pub ring: Ring,
    pub used: bool,
    pub is_ended: bool,
    /// Modules in the ring's order: number of the table, and address.
    pub placed: Vec<(u32, u64)>,
    /// Contexts (parent and function) that the ring has met in this part first, and the number of those before.
    pub contexts_before: u32,
    pub contexts: Vec<(ContextNumber, FunctionNumber)>,
    /// Objects that it has met first, and lives at the end of the part, if objects are measured.
    pub objects: Option<LayoutDelta>,
    pub boundaries: Boundaries,
    pub counts: Counts,
    /// If cores follow.
    pub cycles: Option<PartCycles>,
}

/// What code took in a part.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PartCycles {
    /// Hashes of the cores' numbers.
    pub cores: Vec<u64>,
    pub cycles: MergedCycles,
}

impl PartCycles {
    /// Adds those of the next part, if they are of the same cores.
    pub fn join(mut self, behind: Self) -> Option<Self> {
        self.cycles.add(behind.cycles);
        (self.cores == behind.cores).then_some(self)
    }
}

impl RingPart {
    /// Contexts that the ring has met by its end.
    pub fn known_contexts(&self) -> usize {
        self.contexts_before as usize + self.contexts.len()
    }

    /// Whether all numbers are of something, and below these limits.
    pub fn is_sound(&self, functions: usize, segments: usize) -> bool {
        let is_known = |(number, &(parent, function)): (usize, &(ContextNumber, FunctionNumber))| {
            parent.index() < number && function.index() < functions
        };
        let Boundaries { bytes, beside, .. } = &self.boundaries;
        let is_counted = |label: AccessTag| label == AccessTag::UNCOUNTED || label.cell().index() < self.counts.cells();
        (self.contexts_before as usize..).zip(&self.contexts).all(is_known)
            && self.objects.as_ref().is_none_or(|objects| objects.is_sound(self.known_contexts(), segments))
            && self.counts.is_sound(self.known_contexts(), segments, self.objects.as_ref().map(LayoutDelta::objects))
            && bytes.asks.iter().all(|ask| ask.kind != Kind::Load || is_counted(ask.label))
            && bytes.is_sound()
            && beside.are_sound(self.counts.cells())
            && self.counts.has_sizes_of_lines(beside.lines.len())
            && self.cycles.as_ref().is_none_or(|part| part.cycles.is_sound(part.cores.len()))
    }
}

/// Why a file of a slice cannot be used. The messages name no file.
#[derive(Debug, thiserror::Error)]
pub enum SummaryError {
    /// What the system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It begins as something else.
    #[error("not a slice of a trace: it starts with other bytes; make one with `dmdprof slice`")]
    NotASlice,
    /// Of another version of the format.
    #[error("made by another dmdprof: expected format {VERSION}, found {found}; make the slice again")]
    Version {
        /// Its version.
        found: u32,
    },
    /// Something in it is not as it was written.
    #[error("damaged: {0}; copy the file again, or make the slice again")]
    Damaged(&'static str),
}

/// Of a slice that is behind another.
pub(super) const NO_FIT: SummaryError = SummaryError::Damaged("it does not fit the slice before it");

impl From<Unreadable> for SummaryError {
    fn from(why: Unreadable) -> Self {
        match why {
            Unreadable::Io(error) => Self::Io(error),
            Unreadable::Damaged(what) => Self::Damaged(what),
        }
    }
}

/// Writes a file.
///
/// # Errors
/// What the system refuses.
pub fn write(to: &mut dyn Write, name: &Name, summary: &Summary) -> io::Result<()> {
    to.write_all(&MAGIC)?;
    to.write_all(&VERSION.to_le_bytes())?;
    packed::write(to, name)?;
    packed::write(to, summary)
}

/// Reads whose part a file is.
///
/// # Errors
/// [`SummaryError`].
pub fn read_name(from: &mut dyn Read) -> Result<Name, SummaryError> {
    let mut head = [0; 12];
    from.read_exact(&mut head).map_err(|_| SummaryError::NotASlice)?;
    if head[..8] != MAGIC {
        return Err(SummaryError::NotASlice);
    }
    let found = u32::from_le_bytes([head[8], head[9], head[10], head[11]]);
    if found != VERSION {
        return Err(SummaryError::Version { found });
    }
    Ok(packed::read(from)?)
}

/// Reads what is behind the name, which is all.
///
/// # Errors
/// [`SummaryError`].
pub fn read_summary(from: &mut dyn Read) -> Result<Summary, SummaryError> {
    let summary = packed::read(from)?;
    match from.read(&mut [0])? {
        0 => Ok(summary),
        _ => Err(SummaryError::Damaged("there is something after the end")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{decode::block::CellNumber, engine::MissRequest};

    fn name() -> Name {
        let command = vec!["./item".into()];
        Name { first: 1, last: 2, parts: 3, trace: (7, 347), command, analysis: Vec::new() }
    }

    fn empty() -> Summary {
        Summary { modules_before: 5, modules: Vec::new(), rings: Vec::new(), end: None, cut_at: Some(9) }
    }

    fn file() -> Vec<u8> {
        let mut bytes = Vec::new();
        write(&mut bytes, &name(), &empty()).expect("room");
        bytes
    }

    fn read(bytes: &[u8]) -> Result<(Name, Summary), SummaryError> {
        let from = &mut &bytes[..];
        let name = read_name(from)?;
        Ok((name, read_summary(from)?))
    }

    #[test]
    fn a_file_says_whose_part_it_is_and_what_was_counted() {
        let (found, summary) = read(&file()).expect("a file");
        assert_eq!((found, summary.modules_before, summary.cut_at), (name(), 5, Some(9)));
    }

    #[test]
    fn a_file_that_is_not_as_it_was_written_is_refused() {
        let refused = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut bytes = file();
            change(&mut bytes);
            read(&bytes).expect_err("damaged").to_string()
        };
        for byte in 0..8 {
            assert!(refused(&|bytes| bytes[byte] ^= 1).starts_with("not a slice of a trace"), "byte {byte}");
        }
        assert!(refused(&|bytes| bytes.truncate(11)).starts_with("not a slice of a trace"));
        let older = refused(&|bytes| bytes[8..12].copy_from_slice(&(VERSION - 1).to_le_bytes()));
        assert!(older.contains(&format!("expected format {VERSION}, found {}", VERSION - 1)), "{older}");
        assert!(refused(&|bytes| bytes.push(0)).contains("something after the end"));
        assert!(refused(&|bytes| _ = bytes.pop()).contains("damaged: it ends too early"));
        assert!(refused(&|bytes| *bytes.last_mut().expect("bytes") ^= 1).contains("damaged: a checksum does not fit"));
    }

    fn part(contexts_before: u32, contexts: &[(usize, usize)]) -> RingPart {
        let context =
            |&(parent, function): &(usize, usize)| (ContextNumber::new(parent), FunctionNumber::new(function));
        RingPart {
            number: 0,
            ring: Ring { process: 1, tid: 1, kind: 1, parent: None, ancestors: Vec::new() },
            used: true,
            is_ended: false,
            placed: Vec::new(),
            contexts_before,
            contexts: contexts.iter().map(context).collect(),
            objects: None,
            boundaries: Boundaries::default(),
            counts: Counts::default(),
            cycles: None,
        }
    }

    #[test]
    fn contexts_come_behind_their_callers_and_are_of_functions() {
        let is_sound = |before, contexts: &[(usize, usize)]| part(before, contexts).is_sound(2, 0);
        assert!(is_sound(1, &[(0, 0), (1, 1)]));
        assert_eq!(part(3, &[(0, 0), (1, 1)]).known_contexts(), 5);
        assert!(!is_sound(1, &[(1, 0)]), "its own caller");
        assert!(!is_sound(1, &[(0, 2)]), "a function that is not there");
        assert!(is_sound(4, &[(3, 0)]), "a caller of an earlier part");
        assert!(!is_sound(4, &[(4, 0)]));
    }

    #[test]
    fn what_is_asked_is_of_a_cell_or_does_not_count() {
        let is_sound = |label, kind| {
            let mut part = part(1, &[]);
            let ask = MissRequest { addr: 0, above: 0, holes: 0, len: 8, label, kind, joined: false };
            part.boundaries.bytes.asks.push(ask);
            part.is_sound(0, 0)
        };
        let cell = AccessTag::for_cell(CellNumber::new(0));
        assert!(!is_sound(cell, Kind::Load), "there are no cells");
        assert!(is_sound(AccessTag::UNCOUNTED, Kind::Load));
        assert!(is_sound(cell, Kind::Store), "of these nothing is asked");
        assert!(!is_sound(AccessTag::UNCOUNTED, Kind::Fresh), "no part asks that");
    }

    #[test]
    fn cycles_are_of_the_same_cores() {
        let on = |cores: &[u64], windows| PartCycles {
            cores: cores.into(),
            cycles: MergedCycles { windows, ..MergedCycles::default() },
        };
        let both = on(&[1, 2], 3).join(on(&[1, 2], 4)).expect("the same");
        assert_eq!(both.cycles.windows, 7);
        assert!(on(&[1, 2], 3).join(on(&[2, 1], 4)).is_none());
        assert!(on(&[1, 2], 3).join(on(&[1], 4)).is_none());
    }
}
