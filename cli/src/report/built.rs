//! How a program was built, where that decides what is measured or where it is shown.
//!
//! Takes what compilers left in the program, and which code has places in the source; gives a line for what a reader
//! would take for the program's own doing, with the flag that changes it. Of a profile that does not tell, nothing.

use std::path::Path;

use dmdprof_runtime::abi::{NOT_OPTIMISED, OPTIMISED_BEFORE};
use dmdprof_runtime::sites::IMPORTED;

use crate::{profile::Profile, shared::names::is_library_file};

/// What to say before the numbers.
pub fn notes(profile: &Profile) -> Vec<String> {
    not_optimised(profile).into_iter().chain(no_lines(profile)).collect()
}

/// One compiler with its options.
struct Compiled<'a> {
    rust: bool,
    /// As it was written, if at all.
    level: Option<&'a str>,
    optimised: bool,
    /// Functions say themselves that nobody may optimise them.
    barred: bool,
}

impl<'a> Compiled<'a> {
    fn from_line(line: &'a str) -> Self {
        let mut levels =
            line.split(' ').filter(|word| ["-O", "--optimize", "-Copt-level="].iter().any(|o| word.starts_with(o)));
        let level = levels.next_back();
        let said = level.is_some_and(|level| !matches!(level, "-O0" | "--optimize=0" | "-Copt-level=0"));
        let barred = line.contains(NOT_OPTIMISED);
        let optimised = (said && !barred) || line.contains(OPTIMISED_BEFORE);
        Self { rust: line.starts_with("rustc "), level, optimised, barred }
    }
}

fn not_optimised(profile: &Profile) -> Option<String> {
    // The values model takes programs as they are written.
    if profile.meta.values.is_some() {
        return None;
    }
    let compiled: Vec<Compiled> = profile.compilers.iter().map(|line| Compiled::from_line(line)).collect();
    let plain = |rust: bool| compiled.iter().find(|one| one.rust == rust && !one.optimised);
    let found = plain(true).or(plain(false))?;
    // The standard library of Rust is always optimised.
    let in_part = if !found.rust && compiled.iter().any(|one| one.optimised) { " in part" } else { "" };
    let from_source = profile.meta.command.first().is_some_and(|program| {
        let extension = Path::new(program).extension().and_then(|e| e.to_str()).unwrap_or_default();
        matches!(extension, "c" | "cc" | "cpp" | "cxx" | "C" | "c++" | "rs")
    });
    let advice = match (from_source, found.rust) {
        (true, _) => "leave out -O0",
        (false, true) => "build with --release",
        (false, false) => "compile with -O2",
    };
    let level = if found.barred { NOT_OPTIMISED.trim() } else { found.level.unwrap_or("no -O") };
    Some(format!(
        "built{in_part} without optimisation ({level}): spills and reloads of every variable are measured; {advice}"
    ))
}

/// If none of the program's own code has lines.
fn no_lines(profile: &Profile) -> Option<String> {
    let is_own = |file: &str| !is_library_file(file);
    let file = |id| profile.strings.get(id).map(String::as_str);
    let mut files = profile.functions.iter().map(|function| function.file.and_then(|id| file(id.index())));
    let without = files.clone().any(|file| file.is_none());
    let of_positions = profile.positions.iter().filter_map(|position| file(position.file?.index()));
    if !without || files.any(|file| file.is_some_and(is_own)) || of_positions.into_iter().any(is_own) {
        return None;
    }
    if profile.coverage.modules.iter().any(|module| module.name == IMPORTED) {
        return Some(
            "nothing has lines: import --program FILE names the program that made the accesses, with debug information"
                .into(),
        );
    }
    let rust = profile.compilers.iter().map(|line| Compiled::from_line(line)).filter(|one| one.rust);
    let flag = match rust.map(|one| one.optimised).reduce(|all, one| all && one) {
        None => "compile with -g",
        Some(true) => {
            "[profile.release] debug = \"line-tables-only\" in Cargo.toml, or CARGO_PROFILE_RELEASE_DEBUG=line-tables-only, adds it"
        }
        Some(false) => {
            "[profile.dev] debug = \"line-tables-only\" in Cargo.toml, or CARGO_PROFILE_DEV_DEBUG=line-tables-only, adds it"
        }
    };
    Some(format!("built without debug information, so nothing has lines: {flag}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::sample;

    fn built(command: &str, compilers: &[&str]) -> Vec<String> {
        let mut profile = sample::small();
        profile.compilers = compilers.iter().map(|line| (*line).into()).collect();
        profile.meta.command = vec![command.into()];
        notes(&profile)
    }

    #[test]
    fn programs_without_optimisation_are_told_which_flag_to_add() {
        let said = [
            ("./a", &["Debian clang version 14.0.6 -O0"][..], "built without optimisation (-O0)", "compile with -O2"),
            ("./a", &["clang version 19.1.7 -O2 -O0 -fPIC"], "built without optimisation (-O0)", "compile with -O2"),
            ("./a", &["clang version 19.1.7 -fno-inline"], "built without optimisation (no -O)", "compile with -O2"),
            ("a.c", &["clang version 19.1.7 -O0"], "built without", "leave out -O0"),
            ("./a", &["clang version 19.1.7 -O2 optnone"], "built without optimisation (optnone)", "compile with -O2"),
            ("./a", &["clang version 19.1.7 -O0", "clang version 19.1.7 -O2"], "built in part without", "-O2"),
            (
                "target/debug/a",
                &["rustc version 1.95.0 (x) -Copt-level=0", "rustc version 1.95.0 (x) -Copt-level=3 with avx"],
                "built without optimisation (-Copt-level=0)",
                "build with --release",
            ),
            ("a", &["clang version 19 -O0", "rustc version 1.95.0 (x) -Copt-level=0"], "built", "build with --release"),
        ];
        for (command, compilers, begins, ends) in said {
            let notes = built(command, compilers);
            assert!(notes.len() == 1 && notes[0].starts_with(begins) && notes[0].ends_with(ends), "{notes:?}");
        }
    }

    #[test]
    fn optimised_programs_hear_nothing() {
        let quiet: [&[&str]; 9] = [
            &[],
            &["clang version 19.1.7 -O1"],
            &["clang version 19.1.7 -O0 -O3"],
            &["clang version 19.1.7 -Os -ffast-math for skylake"],
            &["clang version 19.1.7 -Oz"],
            &["clang version 19.1.7 -O -g"],
            &["clang version 19.1.7 --optimize=2"],
            &["clang version 19.1.7 -O0 (optimised before)"],
            &["rustc version 1.95.0 (x) -Copt-level=s"],
        ];
        for compilers in quiet {
            assert_eq!(built("./a", compilers), Vec::<String>::new(), "{compilers:?}");
        }
        let mut values = sample::values();
        values.compilers = vec!["clang version 19.1.7 -O0".into()];
        assert_eq!(not_optimised(&values), None);
    }

    #[test]
    fn programs_without_lines_are_told_how_to_get_them() {
        let without = |compilers: &[&str], library: bool| {
            let mut profile = sample::small();
            profile.compilers = compilers.iter().map(|line| (*line).into()).collect();
            let number = profile.strings.len() as u32;
            profile.strings.push("/rustc/0123/library/core/src/fmt/mod.rs".into());
            let of_library = library.then_some(crate::profile::model::StringId(number));
            profile.functions.iter_mut().for_each(|function| function.file = of_library);
            profile.positions.iter_mut().for_each(|position| position.file = of_library);
            profile.functions[0].file = None;
            no_lines(&profile)
        };
        let (c, rust) = (["clang version 19.1.7 -O2"], ["rustc version 1.95.0 (x) -Copt-level=3"]);
        assert!(without(&c, false).is_some_and(|note| note.ends_with("compile with -g")));
        for library in [false, true] {
            let note = without(&rust, library).expect("nothing of its own has lines");
            assert!(
                note.contains("[profile.release] debug = \"line-tables-only\"")
                    && note.contains("CARGO_PROFILE_RELEASE_DEBUG"),
                "{note}"
            );
        }
        assert_eq!(no_lines(&sample::small()), None);
    }
}
