//! Samples of a clock by function and line, and their file beside the profile, `PROFILE.clock`.
//!
//! Takes samples by place in files, gives the same by function, file and line, for a profile's functions and lines to
//! be joined with. The file says which profile it belongs to, by that one's bytes: beside another it does not count. A
//! file that is damaged is told of and does not count either.

use std::{
    collections::{BTreeMap, HashMap},
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::Context;
use dmdprof_runtime::places::{Declared, Place, Places};
use serde::{Deserialize, Serialize};

use super::processes::Code;
use crate::{
    convert,
    profile::{
        Profile,
        file::old_path,
        model::{ClockPlace, ClockRuns, Function, FunctionId, MeasuredClock, Position, PositionId, StringId},
    },
    shared::{hash, output_file, printable},
};

/// Bumped whenever an older dmdprof could not read it.
const VERSION: u32 = 1;

/// What a clock says of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clock {
    version: u32,
    /// SHA-256 of the profile's file.
    profile: String,
    #[serde(flatten)]
    pub runs: ClockRuns,
    places: Vec<Sampled>,
}

/// Samples at a place in the source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Sampled {
    samples: u64,
    function: Declared,
    /// Outermost first; empty without debug information.
    chain: Vec<Place>,
}

/// Samples by function and line.
pub fn named(runs: ClockRuns, found: &BTreeMap<Code, u64>) -> Clock {
    let mut files: HashMap<&Path, Places> = HashMap::new();
    let mut places: BTreeMap<(Declared, Vec<Place>), u64> = BTreeMap::new();
    for ((file, offset), samples) in found {
        let code = match file {
            Some(file) => files.entry(file).or_insert_with(|| Places::of(file)).code(*offset),
            // As programs without hooks have it.
            None => (Declared { name: "(generated code)".into(), file: None, line: 0 }, Vec::new()),
        };
        *places.entry(code).or_default() += samples;
    }
    let places = places.into_iter().map(|((function, chain), samples)| Sampled { samples, function, chain });
    Clock { version: VERSION, profile: String::new(), runs, places: places.collect() }
}

impl Clock {
    /// Gives a profile its samples.
    fn join(&self, profile: &mut Profile) {
        let mut twin = Profile::default();
        let mut named = Named { profile: &mut twin, strings: HashMap::new(), functions: HashMap::new() };
        let place = |Sampled { samples, function, chain }: &Sampled| {
            let function = named.function(function);
            let position = chain.iter().fold(None, |at, place| Some(named.position(place, at)));
            ClockPlace { function, position, samples: *samples }
        };
        let places = self.places.iter().map(place).collect();
        twin.clock = Some(MeasuredClock { runs: self.runs.clone(), places });
        convert::twin::join(profile, &twin);
    }

    /// Writes it beside a profile that was written; where that is no regular file, nothing.
    ///
    /// # Errors
    /// Those of reading the one and writing the other.
    fn write(mut self, profile: &Path) -> anyhow::Result<()> {
        if !profile.is_file() {
            return Ok(());
        }
        self.profile = hash::of_file(profile)?;
        let path = path(profile);
        output_file::check(&path)
            .and_then(|()| output_file::write_whole(&path, |to| Ok(serde_json::to_writer(to, &self)?)))
            .with_context(|| format!("cannot write the clock's samples to {}", path.display()))
    }
}

/// Where a profile's clock is.
fn path(profile: &Path) -> PathBuf {
    let mut path = profile.as_os_str().to_owned();
    path.push(".clock");
    path.into()
}

/// A profile has been written: what a clock says of it joins it and is written beside it, and the clock of the profile
/// before goes where that went.
///
/// # Errors
/// As [`Clock::write`].
pub fn publish(profile: &mut Profile, at: &Path, clock: Option<Clock>) -> anyhow::Result<()> {
    // Where that fails, nothing is told that is wrong: the clock belongs to no profile.
    let _ = fs::rename(path(at), path(&old_path(at)));
    let Some(clock) = clock else { return Ok(()) };
    clock.join(profile);
    clock.write(at)
}

/// Gives a profile that was read from a file the samples beside it, if they are its own.
pub fn add(profile: &mut Profile, at: &Path) {
    match read(at) {
        Ok(Some(clock)) => clock.join(profile),
        Ok(None) => {}
        Err(error) => printable::say(format_args!("note: {} is not read: {error}", path(at).display())),
    }
}

/// The clock of a profile's file, if there is one and it is that profile's.
fn read(profile: &Path) -> anyhow::Result<Option<Clock>> {
    let bytes = match fs::read(path(profile)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        bytes => bytes?,
    };
    let clock: Clock = serde_json::from_slice(&bytes)?;
    anyhow::ensure!(clock.version == VERSION, "it is of version {}, and this dmdprof reads {VERSION}", clock.version);
    let all = clock.places.iter().try_fold(0u64, |all, place| all.checked_add(place.samples));
    anyhow::ensure!(all.is_some_and(|all| all > 0), "its samples are none, or too many");
    Ok((clock.profile == hash::of_file(profile)?).then_some(clock))
}

/// Names and places as a profile has them.
struct Named<'a> {
    profile: &'a mut Profile,
    strings: HashMap<String, StringId>,
    functions: HashMap<Declared, FunctionId>,
}

impl Named<'_> {
    fn text(&mut self, text: &str) -> StringId {
        let next = StringId(self.profile.strings.len() as u32);
        let id = *self.strings.entry(text.to_owned()).or_insert(next);
        if id == next {
            self.profile.strings.push(text.to_owned());
        }
        id
    }

    fn function(&mut self, declared: &Declared) -> FunctionId {
        if let Some(known) = self.functions.get(declared) {
            return *known;
        }
        let (symbol, file) = (self.text(&declared.name), declared.file.as_deref().map(|file| self.text(file)));
        let id = FunctionId(self.profile.functions.len() as u32);
        self.profile.functions.push(Function { symbol, file, line: declared.line });
        self.functions.insert(declared.clone(), id);
        id
    }

    fn position(&mut self, place: &Place, inlined_at: Option<PositionId>) -> PositionId {
        let (function, file) = (self.function(&place.function), Some(self.text(&place.file)));
        let position = Position { function, file, line: place.line, column: place.column, inlined_at };
        let positions = &mut self.profile.positions;
        positions.push(position);
        PositionId(positions.len() as u32 - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{model::SampledBy, sample};

    /// Samples of the first function of a profile and of one that it does not have.
    fn clock(profile: &Profile) -> Clock {
        let known = Declared { name: profile.symbol(FunctionId(0)).to_owned(), file: None, line: 0 };
        let other = Declared { name: "(libc.so.6)".into(), file: Some("/lib/libc.so.6".into()), line: 0 };
        let place = Place { function: known.clone(), file: "new.c".into(), line: 7, column: 0 };
        let sampled = |samples, function: &Declared, chain| Sampled { samples, function: function.clone(), chain };
        let places = vec![sampled(3, &known, vec![place]), sampled(1, &other, vec![])];
        let runs = ClockRuns { sampled_by: SampledBy::Timer, runs: 2, ..ClockRuns::default() };
        Clock { version: VERSION, profile: String::new(), runs, places }
    }

    #[test]
    fn samples_join_functions_by_name_and_belong_to_one_profile() {
        let directory = tempfile::tempdir().expect("a directory");
        let at = directory.path().join("p");
        let mut profile = sample::small();
        crate::profile::write(&at, &profile).expect("written");
        let (before, functions) = (profile.clone(), profile.functions.len());
        publish(&mut profile, &at, Some(clock(&before))).expect("written");
        let joined = profile.clock.clone().expect("a clock");
        assert_eq!((joined.samples(), joined.runs.runs, profile.functions.len()), (4, 2, functions + 1));
        let place = joined.places.iter().find(|place| place.function == FunctionId(0)).expect("a known function");
        assert_eq!((place.samples, profile.positions[place.position.expect("a line").index()].line), (3, 7));

        let mut again = before.clone();
        add(&mut again, &at);
        assert_eq!(again, profile, "the file says the same");
        std::fs::write(path(&at), "{").expect("written");
        let mut damaged = before.clone();
        add(&mut damaged, &at);
        assert_eq!(damaged, before);
    }

    #[test]
    fn a_clock_goes_with_its_profile() {
        let directory = tempfile::tempdir().expect("a directory");
        let at = directory.path().join("p");
        let mut profile = sample::small();
        crate::profile::write(&at, &profile).expect("written");
        let mine = clock(&profile);
        publish(&mut profile, &at, Some(mine)).expect("written");
        let has_clock = |at: &Path| read(at).expect("whole").is_some();
        assert!(has_clock(&at));
        let mut other = sample::small();
        other.meta.command.push("other".into());
        crate::profile::write(&at, &other).expect("written");
        assert!(!has_clock(&at), "the profile is another one");
        publish(&mut other, &at, None).expect("nothing to write");
        assert!(has_clock(&old_path(&at)) && other.clock.is_none() && !path(&at).exists());
    }
}
