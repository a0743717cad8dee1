//! What is in a profile's file: named sections, each with a version of its own.
//!
//! Takes a [`Profile`], gives the list of its sections in postcard, and back. What has nothing to say is left out, and
//! what is missing is as if it had not been measured. Sections that this dmdprof does not know are kept as they are.
//! Refuses a known section of another version, sections that come twice, content that does not decode, and a list
//! without the section of the run.
//!
//! A metric that not every run measures is a column: for the cells that have it, and for such uses of objects, their
//! number and it.
//!
//! ```text
//!   | sections | name | version | bytes | content | name | ...       numbers of 7 bits a byte, low first
//! ```
//!
//! The profile of a program without accesses has 3 sections, the last of which is `lines`:
//!
//! ```text
//!   03                        3 sections
//!   03 72 75 6e | 01 | 6c     "run" of version 1, 108 bytes
//!   ...
//!   05 6c 69 6e 65 73 | 01 | 04   "lines" of version 1, 4 bytes
//!   01 40 | 00 | 00           one size of lines, 64; a column of no cells and no uses
//! ```

use serde::{Deserialize, Serialize};

pub use super::model::Section;
use super::model::{CellCounts, Profile};

/// A known section of a version that is not.
#[derive(Debug, PartialEq, Eq)]
pub struct OtherVersion {
    /// Which.
    pub name: &'static str,
    /// The version that is read.
    pub expected: u32,
    /// Its version.
    pub found: u32,
}

/// Why sections are no profile.
#[derive(Debug)]
pub enum Unreadable {
    /// One is of another version.
    Version(OtherVersion),
    /// What is wrong with them.
    Damaged(String),
}

/// How a section is written and read.
struct SectionFormat {
    name: &'static str,
    version: u32,
    write: fn(&Profile) -> Vec<u8>,
    read: fn(&mut Profile, &[u8]) -> Result<(), String>,
}

/// Of cells, and of uses of objects: the numbers of those that have a metric, and what they have.
type Column<T> = [Vec<(u32, T)>; 2];

macro_rules! part {
    ($name:literal, $version:literal, $($field:ident),*) => {
        SectionFormat {
            name: $name,
            version: $version,
            write: |profile| encoded(&($(&profile.$field,)*)),
            read: |profile, content| {
                ($(profile.$field,)*) = decoded(content)?;
                Ok(())
            },
        }
    };
    ($name:literal, $version:literal, $($field:ident),*; $metric:ident) => {
        SectionFormat {
            name: $name,
            version: $version,
            write: |profile| encoded(&($(&profile.$field,)* column(profile, |counts| counts.$metric.as_ref()),)),
            read: |profile, content| {
                let metric;
                ($(profile.$field,)* metric,) = decoded(content)?;
                put(profile, metric, |counts| &mut counts.$metric)
            },
        }
    };
}

/// Columns come behind the lists that they are of.
const PARTS: [SectionFormat; 17] = [
    part!(
        "run",
        1,
        meta,
        coverage,
        totals,
        threads,
        thread_starts,
        compilers,
        flops_by_type,
        cold_histogram,
        has_capacities
    ),
    part!("code", 1, strings, functions, positions, sites, blocks, contexts, sources),
    part!("known", 1, known),
    part!("irregular", 1, irregular),
    part!("cells", 1, cells, block_counts),
    part!("flows", 1, flows),
    part!("objects", 2, objects),
    part!("sequences", 1, sequences),
    part!("regions", 1, regions),
    part!("dead", 1, ; dead),
    part!("lines", 1, line_sizes; lines),
    part!("pairs", 1, pairs),
    part!("caches", 1, caches; caches),
    part!("hazards", 1, hazards; hazards),
    part!("optimum", 1, optimum; least),
    part!("cycles", 3, cycles),
    part!("threads", 1, sharing, sharing_details, stacks; alone),
];

fn encoded(content: &impl Serialize) -> Vec<u8> {
    postcard::to_stdvec(content).expect("a Profile holds nothing that postcard cannot write")
}

fn decoded<'c, T: Deserialize<'c>>(content: &'c [u8]) -> Result<T, String> {
    let does_not = |error| format!("content that does not decode ({error})");
    let (decoded, rest) = postcard::take_from_bytes::<T>(content).map_err(does_not)?;
    if rest.is_empty() { Ok(decoded) } else { Err(format!("{} bytes after the content", rest.len())) }
}

fn column<'p, T>(profile: &'p Profile, of: impl Fn(&'p CellCounts) -> Option<&'p T>) -> Column<&'p T> {
    let uses = profile.objects.iter().flat_map(|objects| &objects.uses);
    [
        (0..).zip(&profile.cells).filter_map(|(number, cell)| Some((number, of(&cell.counts)?))).collect(),
        (0..).zip(uses).filter_map(|(number, used)| Some((number, of(&used.counts)?))).collect(),
    ]
}

/// Puts what a column has in its place.
fn put<T>(
    profile: &mut Profile,
    [cells, uses]: Column<T>,
    of: impl Fn(&mut CellCounts) -> &mut Option<T>,
) -> Result<(), String> {
    let nothing = |what: &str, number: u32| format!("numbers of {what} {number}, which there is not");
    for (number, counts) in cells {
        let cell = profile.cells.get_mut(number as usize).ok_or_else(|| nothing("cell", number))?;
        *of(&mut cell.counts) = Some(counts);
    }
    for (number, counts) in uses {
        let used = profile.objects.as_mut().and_then(|objects| objects.uses.get_mut(number as usize));
        *of(&mut used.ok_or_else(|| nothing("use", number))?.counts) = Some(counts);
    }
    Ok(())
}

/// The sections of a profile. Those that say nothing are left out.
#[must_use]
pub fn sections(profile: &Profile) -> Vec<Section> {
    let none = Profile::default();
    let known = PARTS.iter().filter_map(|part| {
        let content = (part.write)(profile);
        let says = content != (part.write)(&none);
        says.then(|| Section { name: part.name.into(), version: part.version, content })
    });
    known.chain(profile.unknown.iter().cloned()).collect()
}

/// The profile that sections are of.
///
/// # Errors
/// What is wrong with them.
pub fn from_sections(mut sections: Vec<Section>) -> Result<Profile, Unreadable> {
    let mut profile = Profile::default();
    for part in PARTS {
        let Some(at) = sections.iter().position(|section| section.name == part.name) else {
            if part.name == PARTS[0].name {
                return Err(Unreadable::Damaged(format!("no section {}", part.name)));
            }
            continue;
        };
        let Section { version: found, content, .. } = sections.remove(at);
        if found != part.version {
            let other = OtherVersion { name: part.name, expected: part.version, found };
            return Err(Unreadable::Version(other));
        }
        (part.read)(&mut profile, &content).map_err(|why| Unreadable::Damaged(format!("{}: {why}", part.name)))?;
    }
    if let Some(twice) = sections.iter().find(|section| PARTS.iter().any(|part| part.name == section.name)) {
        return Err(Unreadable::Damaged(format!("section {} comes twice", twice.name)));
    }
    profile.unknown = sections;
    Ok(profile)
}

/// The content of a profile's file.
#[must_use]
pub fn content(profile: &Profile) -> Vec<u8> {
    encoded(&sections(profile))
}

/// The profile that a file's content is of.
///
/// # Errors
/// What is wrong with it.
pub fn profile(content: &[u8]) -> Result<Profile, Unreadable> {
    from_sections(decoded(content).map_err(Unreadable::Damaged)?)
}
