//! Samples of a clock by function and line, and their file beside the profile, `PROFILE.clock`.
//!
//! Takes samples by place in files, gives the same by function, file and line, for a profile's functions and lines to
//! be joined with. The file says which profile it belongs to, by that one's bytes: beside another it does not count. A
//! file that is damaged is told of and does not count either.
//!
//! The file is JSON in one line. Of two runs with 1,274 samples in line 2 of `main`, it is, with breaks:
//!
//! ```text
//! {"version":1,"profile":"21ea073e...","sampled_by":"events","runs":2,"lost":0,"is_twin":true,
//!  "outcome":{"Exited":0},"places":[{"samples":1274,
//!   "function":{"name":"main","file":"loop.c","line":2},
//!   "chain":[{"function":{"name":"main","file":"loop.c","line":2},"file":"loop.c","line":2,"column":56}]}]}
//! ```

use std::{
    collections::{BTreeMap, HashMap},
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::Context;
use dmdprof_runtime::places::{Code, Declared, Places, SourcePosition, Uncovered};
use serde::{Deserialize, Serialize};

use super::processes::At;
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
    #[serde(flatten)]
    code: Code,
}

/// Samples by function and line.
pub fn named(runs: ClockRuns, found: &BTreeMap<At, u64>) -> Clock {
    let mut files: HashMap<&Path, Places> = HashMap::new();
    let mut places: BTreeMap<Code, u64> = BTreeMap::new();
    for ((file, offset), samples) in found {
        let code = match file {
            Some(file) => files.entry(file).or_insert_with(|| Places::read_file(file)).code(*offset),
            // As programs without hooks have it.
            None => Code {
                function: Declared { name: "(generated code)".into(), file: None, line: 0 },
                chain: Vec::new(),
                uncovered: None,
            },
        };
        *places.entry(code).or_default() += samples;
    }
    let places = places.into_iter().map(|(code, samples)| Sampled { samples, code });
    Clock { version: VERSION, profile: String::new(), runs, places: places.collect() }
}

impl Clock {
    /// Gives a profile its samples.
    fn join(&self, profile: &mut Profile) {
        let mut twin = Profile::default();
        let mut named = Named { profile: &mut twin, strings: HashMap::new(), functions: HashMap::new() };
        let counted = Counted::from_profile(profile);
        let place = |Sampled { samples, code }: &Sampled| {
            let near = code.uncovered.and_then(|at| counted.around(&code.function, at));
            let function = named.function(near.as_ref().unwrap_or(&code.function));
            let position = code.chain.iter().fold(None, |at, place| Some(named.position(place, at)));
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

/// Functions of a profile that are called by where they begin, as in `gzip+0x1a30`: by file and address.
struct Counted(BTreeMap<(String, u64), String>);

impl Counted {
    fn from_profile(profile: &Profile) -> Self {
        let functions = (0..profile.functions.len() as u32).map(|id| profile.symbol(FunctionId(id)));
        let starts = functions.filter_map(|name| {
            let (file, start) = name.rsplit_once("+0x")?;
            Some(((file.to_owned(), u64::from_str_radix(start, 16).ok()?), name.to_owned()))
        });
        Self(starts.collect())
    }

    /// The function that code which no symbol covers is most likely in: the nearest before it, if no symbol lies
    /// between.
    fn around(&self, of_file: &Declared, at: Uncovered) -> Option<Declared> {
        let file = of_file.name.strip_prefix('(')?.strip_suffix(')')?.to_owned();
        let range = (file.clone(), at.after.min(at.address))..=(file, at.address);
        let (_, name) = self.0.range(range).next_back()?;
        Some(Declared { name: name.clone(), ..of_file.clone() })
    }
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

    fn position(&mut self, place: &SourcePosition, inlined_at: Option<PositionId>) -> PositionId {
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
        let place = SourcePosition { function: known.clone(), file: "new.c".into(), line: 7, column: 0 };
        let sampled = |samples, function: &Declared, chain| {
            let code = Code { function: function.clone(), chain, uncovered: None };
            Sampled { samples, code }
        };
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

    #[test]
    fn code_without_symbols_is_of_the_function_that_begins_before_it() {
        let mut profile = Profile::default();
        for (number, name) in ["gzip+0x1000", "gzip+0x2000", "other+0x2100", "main"].into_iter().enumerate() {
            profile.strings.push(name.into());
            profile.functions.push(Function { symbol: StringId(number as u32), file: None, line: 0 });
        }
        let counted = Counted::from_profile(&profile);
        let file = Declared { name: "(gzip)".into(), file: Some("/bin/gzip".into()), line: 0 };
        let around = |address, after| counted.around(&file, Uncovered { address, after }).map(|found| found.name);
        assert_eq!(around(0x1fff, 0).as_deref(), Some("gzip+0x1000"));
        assert_eq!(around(0x2200, 0x2000).as_deref(), Some("gzip+0x2000"));
        assert_eq!(around(0x2200, 0x2001), None, "a symbol lies between");
        assert_eq!(around(0xfff, 0), None);
    }
}
