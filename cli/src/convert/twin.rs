//! Cycles and a clock's samples of a program without hooks, as those of the program with hooks that it is the twin of.
//!
//! Takes the profiles of both, gives the second one's cycles and samples to the first. Functions are the same if their
//! linkage names are; files if their paths are, or if only one file of the first has the last part of the path in
//! common.

use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
};

use crate::profile::model::{
    ClockPlace, CycleCounts, CyclePlace, Function, FunctionId, MeasuredClock, MeasuredCycles, Position, PositionId,
    Profile, StringId,
};

/// Joins what was measured of a twin to a profile.
pub fn join(profile: &mut Profile, twin: &Profile) {
    let mut joined = Joined::new(profile, twin);
    let cycles = twin.cycles.as_ref().map(|cycles| {
        let mut places: BTreeMap<_, CycleCounts> = BTreeMap::new();
        for place in &cycles.places {
            places.entry(joined.place(place.function, place.position)).or_default().add(&place.counts);
        }
        let places = places.into_iter().map(|((function, position), counts)| CyclePlace { function, position, counts });
        MeasuredCycles { places: places.collect(), is_twin: true, ..cycles.clone() }
    });
    let clock = twin.clock.as_ref().map(|clock| {
        let mut places: BTreeMap<_, u64> = BTreeMap::new();
        for place in &clock.places {
            *places.entry(joined.place(place.function, place.position)).or_default() += place.samples;
        }
        let place = |((function, position), samples)| ClockPlace { function, position, samples };
        MeasuredClock { places: places.into_iter().map(place).collect(), ..clock.clone() }
    });
    profile.cycles = cycles.or(profile.cycles.take());
    profile.clock = clock.or(profile.clock.take());
}

/// What tells a position from others: function, file, line, column, and where it was inlined.
type PositionKey = (FunctionId, Option<StringId>, u32, u32, Option<PositionId>);

/// What of the twin is what of the profile.
struct Joined<'a> {
    profile: &'a mut Profile,
    twin: &'a Profile,
    strings: HashMap<String, StringId>,
    /// By symbol.
    functions: HashMap<String, FunctionId>,
    positions: HashMap<PositionKey, PositionId>,
    /// Files by the last part of their path; none where several have it.
    files: HashMap<String, Option<StringId>>,
}

impl<'a> Joined<'a> {
    fn new(profile: &'a mut Profile, twin: &'a Profile) -> Self {
        let strings = (0..).map(StringId).zip(&profile.strings).map(|(id, text)| (text.clone(), id)).collect();
        let ids = (0..).map(FunctionId);
        // The first of several: those that are linked come before what was inlined.
        let mut functions = HashMap::new();
        for id in ids.take(profile.functions.len()) {
            functions.entry(profile.symbol(id).to_owned()).or_insert(id);
        }
        let mut files: HashMap<String, Option<StringId>> = HashMap::new();
        let of_functions = profile.functions.iter().filter_map(|function| function.file);
        for file in of_functions.chain(profile.positions.iter().filter_map(|position| position.file)) {
            let last = last_part(&profile.strings[file.index()]);
            files.entry(last).and_modify(|known| *known = known.filter(|known| *known == file)).or_insert(Some(file));
        }
        let key = |p: &Position| (p.function, p.file, p.line, p.column, p.inlined_at);
        let positions =
            (0..).map(PositionId).zip(&profile.positions).map(|(id, position)| (key(position), id)).collect();
        Self { profile, twin, strings, functions, positions, files }
    }

    fn text(&mut self, text: &str) -> StringId {
        if let Some(known) = self.strings.get(text) {
            return *known;
        }
        let id = StringId(self.profile.strings.len() as u32);
        self.profile.strings.push(text.to_owned());
        self.strings.insert(text.to_owned(), id);
        id
    }

    fn file(&mut self, file: Option<StringId>) -> Option<StringId> {
        let path = &self.twin.strings[file?.index()];
        if let Some(known) = self.strings.get(path) {
            return Some(*known);
        }
        match self.files.get(&last_part(path)) {
            Some(Some(known)) => Some(*known),
            _ => Some(self.text(path)),
        }
    }

    fn function(&mut self, function: FunctionId) -> FunctionId {
        let symbol = self.twin.symbol(function);
        if let Some(known) = self.functions.get(symbol) {
            return *known;
        }
        let Function { file, line, .. } = self.twin.functions[function.index()];
        let (name, file) = (self.text(symbol), self.file(file));
        let id = FunctionId(self.profile.functions.len() as u32);
        self.profile.functions.push(Function { symbol: name, file, line });
        self.functions.insert(symbol.to_owned(), id);
        id
    }

    fn place(&mut self, function: FunctionId, position: Option<PositionId>) -> (FunctionId, Option<PositionId>) {
        (self.function(function), position.map(|position| self.position(position)))
    }

    fn position(&mut self, position: PositionId) -> PositionId {
        let Position { function, file, line, column, inlined_at } = self.twin.positions[position.index()].clone();
        let inlined_at = inlined_at.map(|at| self.position(at));
        let (function, file) = (self.function(function), self.file(file));
        *self.positions.entry((function, file, line, column, inlined_at)).or_insert_with(|| {
            self.profile.positions.push(Position { function, file, line, column, inlined_at });
            PositionId(self.profile.positions.len() as u32 - 1)
        })
    }
}

fn last_part(path: &str) -> String {
    Path::new(path).file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{model::ClockRuns, sample_tests::Builder};

    /// A program with two functions, of files of these names.
    fn profile(files: [&str; 2]) -> Profile {
        let mut builder = Builder::new(&["./program"]);
        let functions = [("main", files[0]), ("work", files[1])];
        for (symbol, file) in functions {
            let function = builder.function(symbol, Some(file), 1);
            builder.position(function, 7, None);
        }
        builder.finish(|_| ())
    }

    fn counts(instructions: u64) -> CycleCounts {
        CycleCounts { instructions, ..CycleCounts::default() }
    }

    /// The same program without hooks: another order, paths and one function more.
    fn twin() -> Profile {
        let mut builder = Builder::new(&["./program"]);
        let work = builder.function("work", Some("/src/b.c"), 1);
        let other = builder.function("other", Some("/src/c.c"), 9);
        let main = builder.function("main", Some("/src/a.c"), 1);
        let places = [
            (work, Some(builder.position(work, 7, None)), 1),
            (work, None, 2),
            (other, Some(builder.position(other, 10, None)), 4),
            (main, Some(builder.position(main, 7, None)), 8),
            (main, Some(builder.position(main, 8, None)), 16),
        ];
        builder.finish(|profile| {
            let cycles = |(function, position, n)| CyclePlace { function, position, counts: counts(n) };
            let clock = |(function, position, samples)| ClockPlace { function, position, samples };
            let places_of = MeasuredCycles { places: places.map(cycles).into(), ..MeasuredCycles::default() };
            profile.cycles = Some(places_of);
            profile.clock = Some(MeasuredClock { runs: ClockRuns::default(), places: places.map(clock).into() });
        })
    }

    /// Function, file and line of a place of the cycles, and what is there.
    type Place<'a> = (&'a str, Option<(&'a str, u32)>, u64);

    fn places(profile: &Profile) -> Vec<Place<'_>> {
        let of = |place: &CyclePlace| {
            let position = place.position.map(|position| {
                let Position { file, line, .. } = &profile.positions[position.index()];
                (file.map_or("", |file| profile.strings[file.index()].as_str()), *line)
            });
            (profile.symbol(place.function), position, place.counts.instructions)
        };
        profile.cycles.iter().flat_map(|cycles| &cycles.places).map(of).collect()
    }

    #[test]
    fn places_of_the_twin_are_those_of_the_profile_where_it_has_them() {
        let mut joined = profile(["lib/a.c", "lib/b.c"]);
        join(&mut joined, &twin());
        let expected = [
            ("main", Some(("lib/a.c", 7)), 8),
            ("main", Some(("lib/a.c", 8)), 16),
            ("work", None, 2),
            ("work", Some(("lib/b.c", 7)), 1),
            ("other", Some(("/src/c.c", 10)), 4),
        ];
        assert_eq!(places(&joined), expected);
        assert_eq!((joined.functions.len(), joined.positions.len()), (3, 4), "what was known is there once");
        assert!(joined.cycles.as_ref().is_some_and(|cycles| cycles.is_twin));
        let samples = joined.clock.as_ref().map(|clock| clock.places.iter().map(|place| place.samples).collect());
        assert_eq!(samples, Some(vec![8, 16, 2, 1, 4]));
    }

    #[test]
    fn files_are_the_same_by_their_last_part_only_if_no_other_has_it() {
        let mut joined = profile(["lib/a.c", "other/a.c"]);
        join(&mut joined, &twin());
        assert!(places(&joined).contains(&("main", Some(("/src/a.c", 7)), 8)), "{:?}", places(&joined));
        let mut exact = profile(["/src/a.c", "other/a.c"]);
        join(&mut exact, &twin());
        assert!(places(&exact).contains(&("main", Some(("/src/a.c", 7)), 8)));
        assert_eq!(exact.positions[0].line, 7);
        assert_eq!(
            exact.positions.iter().filter(|position| position.line == 7).count(),
            3,
            "one of `main`, two of `work`"
        );
    }

    #[test]
    fn places_of_the_twin_that_are_one_here_are_added_up() {
        let mut twin = twin();
        // Two files of the twin that are one of the profile.
        let cycles = twin.cycles.as_mut().expect("they were measured");
        cycles.places = cycles.places.iter().chain(&cycles.places.clone()).cloned().collect();
        let mut joined = profile(["lib/a.c", "lib/b.c"]);
        join(&mut joined, &twin);
        assert_eq!(places(&joined).iter().map(|(.., n)| n).sum::<u64>(), 2 * 31);
        assert_eq!(places(&joined).len(), 5);
    }

    #[test]
    fn what_the_twin_did_not_measure_stays_as_it_was() {
        let mut twin = twin();
        twin.cycles = None;
        let mut joined = profile(["lib/a.c", "lib/b.c"]);
        joined.cycles = Some(MeasuredCycles::default());
        join(&mut joined, &twin);
        assert_eq!(joined.cycles, Some(MeasuredCycles::default()));
        assert!(joined.clock.is_some());
    }
}
