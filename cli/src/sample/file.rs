//! The file of estimates, `dmdprof.estimate`: what a sample has of a run, and what is exact. Its layout is in
//! `docs/sampling.md`.
//!
//! Takes [`Estimates`], gives bytes, and back. It is no profile, so that nothing takes an estimate for an exact number:
//! whoever reads profiles refuses it by its first bytes. Refuses damaged files as profiles are.
//!
//! The header is that of `profile::file`, with another magic; the content is `Content` in postcard. A sample of 1 in 4
//! with the seed 1, drawn by the program:
//!
//! ```text
//!   89 44 4d 44 45 0d 0a 0a | 05 00 00 00 | sum, 4 bytes     version 5
//!   two lengths, 8 bytes each | zstd of:
//!   04 | 01 | 01                                             1 in 4, seed 1, by the program
//!   01 00 ...                                                1 site: number 0, its counts; then the rest
//! ```

use std::path::{Path, PathBuf};

use dmdprof_runtime::{
    counts::{miss_curve::MissCurve, sampled::SampleCounts},
    observe::sample::{Design, RATES},
};
use serde::{Deserialize, Serialize};

use crate::{
    convert::SampleCells,
    profile::{
        Profile, ReadError,
        file::{self, ESTIMATES_MAGIC, Kind},
        model::{ContextId, ObjectId, SiteId},
        sections::{self, Section},
        validate::validate,
    },
};

/// Raised whenever the meaning of the content changes, that of the profile in it included.
const VERSION: u32 = 5;
/// What tells it from other files.
pub const KIND: Kind = Kind { magic: ESTIMATES_MAGIC, version: VERSION };

/// Who drew the sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drawn {
    /// The analysis of a whole recording.
    FromRecording,
    /// The program while it ran: what it did not look at has no record.
    ByProgram,
}

/// A run that was sampled.
pub struct Estimates {
    /// What is exact. Its costs and bytes read are of reads only that need no sample.
    pub profile: Profile,
    /// The rest of the reads.
    pub cells: SampleCells,
    pub design: Design,
    pub drawn: Drawn,
}

/// Where estimates go of a run whose profile, if it is exact, goes to a path: `x.estimate` in the place of `x.data`.
#[must_use]
pub fn beside(profile: &Path) -> PathBuf {
    if profile.extension().is_some_and(|extension| extension == "data") {
        profile.with_extension("estimate")
    } else {
        profile.to_path_buf()
    }
}

/// What a file can be.
pub enum Measured {
    Exact(Box<Profile>),
    Estimated(Box<Estimates>),
}

impl Measured {
    /// What is exact of it.
    #[must_use]
    pub fn profile(&self) -> &Profile {
        match self {
            Measured::Exact(profile) => profile,
            Measured::Estimated(estimates) => &estimates.profile,
        }
    }

    /// Nothing if some of it is estimated.
    #[must_use]
    pub fn exact(&self) -> Option<&Profile> {
        match self {
            Measured::Exact(profile) => Some(profile),
            Measured::Estimated(_) => None,
        }
    }

    /// Takes the profile out; nothing if some of it is estimated.
    #[must_use]
    pub fn into_exact(self) -> Option<Profile> {
        match self {
            Measured::Exact(profile) => Some(*profile),
            Measured::Estimated(_) => None,
        }
    }
}

/// What is in a file.
#[derive(Serialize, Deserialize)]
struct Content<P, C, R> {
    one_in: u32,
    seed: u64,
    by_program: bool,
    sites: Vec<(SiteId, C)>,
    objects: Vec<(ObjectId, SiteId, C)>,
    contexts: Vec<(ContextId, SiteId, C)>,
    reach: R,
    profile: P,
}

/// The file's bytes. Equal estimates give equal bytes.
#[must_use]
pub fn to_bytes(estimates: &Estimates) -> Vec<u8> {
    let Estimates { profile, cells, design, drawn } = estimates;
    let content = Content {
        one_in: design.one_in,
        seed: design.seed,
        by_program: *drawn == Drawn::ByProgram,
        sites: cells.sites.iter().map(|(site, counts)| (*site, counts)).collect(),
        objects: cells.objects.iter().map(|((object, site), counts)| (*object, *site, counts)).collect(),
        contexts: cells.contexts.iter().map(|((context, site), counts)| (*context, *site, counts)).collect(),
        reach: &cells.miss_curve,
        profile: sections::sections(profile),
    };
    let decoded = postcard::to_stdvec(&content).expect("estimates hold nothing that postcard cannot write");
    file::wrapped(KIND, &decoded)
}

/// Reads a profile or estimates.
///
/// # Errors
/// As for profiles.
pub fn read(path: &Path) -> Result<Measured, ReadError> {
    let bytes = file::bytes_of(path)?;
    if bytes.starts_with(&ESTIMATES_MAGIC) {
        return Ok(Measured::Estimated(Box::new(from_bytes(path, &bytes)?)));
    }
    file::from_bytes(path, &bytes).map(|profile| Measured::Exact(Box::new(profile)))
}

/// Reads estimates from a file's bytes; `path` is for messages only.
///
/// # Errors
/// As for profiles.
pub fn from_bytes(path: &Path, bytes: &[u8]) -> Result<Estimates, ReadError> {
    let decoded = file::unwrapped(KIND, path, bytes)?;
    let inconsistent = |found: String| ReadError::Inconsistent { path: path.into(), found };
    let (content, rest) = postcard::take_from_bytes::<Content<Vec<Section>, SampleCounts, MissCurve>>(&decoded)
        .map_err(|error| inconsistent(format!("content that does not decode ({error})")))?;
    if !rest.is_empty() {
        return Err(inconsistent(format!("{} bytes after the content", rest.len())));
    }
    let profile = file::profile_of(path, sections::from_sections(content.profile.clone()))?;
    checked(content, profile).map_err(inconsistent)
}

/// The sum of all bytes read, if it is one.
fn read_by<'c>(profile: &Profile, mut counts: impl Iterator<Item = &'c SampleCounts>) -> Option<u64> {
    counts.try_fold(profile.totals.read, |sum, counts| sum.checked_add(counts.read))
}

fn checked(content: Content<Vec<Section>, SampleCounts, MissCurve>, profile: Profile) -> Result<Estimates, String> {
    let Content { one_in, seed, by_program, sites, objects, contexts, reach, .. } = content;
    validate(&profile).map_err(|error| error.to_string())?;
    if !RATES.contains(&one_in) {
        return Err(format!("a sample of 1 in {one_in}"));
    }
    let of_objects = profile.objects.as_ref().map_or(0, |objects| objects.list.len());
    let are_known = sites.iter().all(|(site, _)| site.index() < profile.sites.len())
        && objects.iter().all(|(object, site, _)| object.index() < of_objects && site.index() < profile.sites.len())
        && contexts
            .iter()
            .all(|(context, site, _)| context.index() < profile.contexts.len() && site.index() < profile.sites.len());
    if !are_known {
        return Err("counts of a site, an object or a calling context that is not there".into());
    }
    let counts = || sites.iter().map(|(_, counts)| counts);
    let of_data = || objects.iter().map(|(_, _, counts)| counts);
    let of_calls = || contexts.iter().map(|(_, _, counts)| counts);
    let are_possible = counts().chain(of_data()).chain(of_calls()).all(SampleCounts::is_possible);
    let have_sums = read_by(&profile, counts()).is_some()
        && read_by(&profile, of_data()).is_some()
        && read_by(&profile, of_calls()).is_some();
    if !are_possible || !reach.is_possible() || !have_sums {
        return Err("counts that no run has".into());
    }
    let cells = SampleCells {
        sites: sites.into_iter().collect(),
        objects: objects.into_iter().map(|(object, site, counts)| ((object, site), counts)).collect(),
        contexts: contexts.into_iter().map(|(context, site, counts)| ((context, site), counts)).collect(),
        miss_curve: reach,
    };
    let drawn = if by_program { Drawn::ByProgram } else { Drawn::FromRecording };
    Ok(Estimates { profile, cells, design: Design::new(one_in, seed), drawn })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::profile::sample;

    fn reading(bytes: u64) -> SampleCounts {
        let mut counts = SampleCounts::default();
        counts.read = bytes;
        counts
    }

    fn estimates() -> Estimates {
        let counts = reading(100);
        let cells = SampleCells {
            sites: [(SiteId(0), counts.clone())].into(),
            objects: BTreeMap::new(),
            contexts: [((ContextId(1), SiteId(0)), counts)].into(),
            miss_curve: MissCurve::default(),
        };
        let profile = Profile { has_capacities: false, ..sample::small() };
        Estimates { profile, cells, design: Design::new(64, 7), drawn: Drawn::ByProgram }
    }

    fn decode(bytes: &[u8]) -> Result<Estimates, ReadError> {
        from_bytes(Path::new("x.estimate"), bytes)
    }

    #[test]
    fn what_is_written_is_read() {
        let (written, bytes) = (estimates(), to_bytes(&estimates()));
        let read = decode(&bytes).expect("it was written");
        assert_eq!((read.profile, read.cells.sites), (written.profile, written.cells.sites));
        assert_eq!(read.cells.contexts, written.cells.contexts);
        assert_eq!((read.design, read.drawn), (written.design, written.drawn));
    }

    #[test]
    fn it_is_no_profile_and_says_who_takes_it() {
        let error = file::from_bytes(Path::new("x.estimate"), &to_bytes(&estimates())).expect_err("no profile");
        assert!(matches!(error, ReadError::Estimates { .. }));
        assert!(error.to_string().contains("`dmdprof report`, `dmdprof diff`"), "{error}");
    }

    #[test]
    fn damage_is_seen() {
        let bytes = to_bytes(&estimates());
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert!(decode(&damaged).is_err(), "byte {at}");
            assert!(decode(&bytes[..at]).is_err(), "cut at {at}");
        }
        let mut wrong = estimates();
        let counts = wrong.cells.sites.remove(&SiteId(0)).expect("counts");
        wrong.cells.sites.insert(SiteId(u32::MAX), counts);
        assert!(decode(&to_bytes(&wrong)).is_err(), "of a site that is not there");
        let mut wrong = estimates();
        wrong.cells.contexts.insert((ContextId(u32::MAX), SiteId(0)), reading(1));
        assert!(decode(&to_bytes(&wrong)).is_err(), "of a calling context that is not there");
        let mut wrong = estimates();
        wrong.cells.sites.insert(SiteId(1), reading(1 << 60));
        assert!(decode(&to_bytes(&wrong)).is_err(), "more than a run reads");
        let wrong = Estimates { design: Design::new(1, 0), ..estimates() };
        assert!(decode(&to_bytes(&wrong)).is_err(), "no sample");
    }
}
