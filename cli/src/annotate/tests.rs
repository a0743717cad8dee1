use std::fs;

use super::*;
use crate::profile::{
    Profile,
    model::{AccessKind, ClockPlace, ClockRuns, Function, FunctionId, MeasuredClock, SourceFile, StringId},
    sample::Builder,
};
use crate::report::Inlined;
use sha2::{Digest, Sha256};

const SOURCE: &str = "one\ntwo\n\tthree\nfour\nfive\nsix\n";

fn profile(hash: bool) -> Profile {
    let mut b = Builder::new(&["prog"]);
    let f = b.function("work", Some("/build/src/a.c"), 1);
    let context = b.context(Builder::ROOT, f, 1);
    for (line, depth) in [(3, 100), (6, 10_000)] {
        let position = b.position(f, line, None);
        let site = b.site(f, Some(position), AccessKind::Load, 8);
        b.cell(context, site, &[(depth, 800)], &[], 0);
    }
    b.finish(|p| {
        let path = StringId(p.strings.iter().position(|s| s == "/build/src/a.c").unwrap() as u32);
        p.sources = vec![SourceFile { path, sha256: hash.then(|| Sha256::digest(SOURCE).into()) }];
    })
}

fn shown(profile: &Profile, directory: &std::path::Path, change: impl FnOnce(&mut Options)) -> anyhow::Result<String> {
    let mut options = Options { file: None, context: Some(1), threshold: 0.2, inlined: Inlined::Own, width: None };
    change(&mut options);
    let finder = Finder::new(&[directory.to_owned()]);
    let annotation = annotate(profile, &finder, &options)?;
    let mut out = Vec::new();
    write(profile, &annotation, &options, &mut out)?;
    Ok(String::from_utf8(out)?.replace(directory.to_str().unwrap_or("?"), "DIR"))
}

#[test]
fn a_file_that_is_elsewhere_now_is_found_by_the_end_of_its_path() {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("src")).unwrap();
    fs::write(directory.path().join("src/a.c"), SOURCE).unwrap();
    let text = shown(&profile(true), directory.path(), |_| {}).unwrap();
    assert!(text.contains("/build/src/a.c: 100.0% of the cost\n  from DIR/src/a.c\n"), "{text}");
    let lines: Vec<&str> = text.lines().filter_map(|line| line.split_once(" | ")).map(|(_, source)| source).collect();
    assert_eq!(lines, ["five", "six"], "{text}");
    assert!(text.lines().any(|line| line.contains("90.9%") && line.ends_with("6 | six")), "{text}");
    let whole = shown(&profile(true), directory.path(), |options| options.context = None).unwrap();
    assert_eq!(whole.lines().filter(|line| line.contains(" | ")).count(), 6);
}

#[test]
fn changed_unverified_and_missing_files_are_told() {
    let directory = tempfile::tempdir().unwrap();
    let missing = shown(&profile(true), directory.path(), |_| {}).unwrap();
    assert!(missing.contains("Sources that are not here") && missing.contains("line 6, work"), "{missing}");
    fs::write(directory.path().join("a.c"), "another\n").unwrap();
    let changed = shown(&profile(true), directory.path(), |_| {}).unwrap();
    assert!(changed.contains("CHANGED since the profile was made: DIR/a.c"), "{changed}");
    assert!(changed.contains("the file ends before line 3"), "{changed}");
    let unverified = shown(&profile(false), directory.path(), |_| {}).unwrap();
    assert!(unverified.contains("which may be another version"), "{unverified}");
}

#[test]
fn what_a_profile_names_outside_is_not_read_and_the_option_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    for name in ["own", "other"] {
        fs::create_dir(root.join(name)).unwrap();
    }
    fs::write(root.join("other/a.c"), SOURCE).unwrap();
    let finder = Finder::new(&[root.join("own")]);
    let state = |path: &std::path::Path| finder.look(path.to_str().unwrap(), None);
    let outside = (State::Outside(root.join("other/a.c")), Vec::new());
    assert_eq!(state(&root.join("other/a.c")), outside);
    assert_eq!(state(&root.join("own/../other/a.c")), outside);
    // A checkout of somebody else may have links.
    std::os::unix::fs::symlink("../other/a.c", root.join("own/a.c")).unwrap();
    assert_eq!(state(&root.join("own/a.c")), outside);
    let text = shown(&profile(true), &root.join("own"), |_| {}).unwrap();
    assert!(text.contains(&format!("--source-dir {}", root.join("other").display())), "{text}");
    assert!(!text.contains("six") && text.contains("line 6, work"), "{text}");
    fs::write(root.join("own/b.c"), SOURCE).unwrap();
    assert_eq!(state(&root.join("own/b.c")).1.len(), 6);
}

#[test]
fn lines_whose_time_is_in_a_library_are_shown_for_what_they_cost() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("a.c"), SOURCE).unwrap();
    let mut profile = profile(true);
    let library = FunctionId(profile.functions.len() as u32);
    profile.functions.push(Function { symbol: StringId(0), file: None, line: 0 });
    let places = vec![ClockPlace { function: library, position: None, samples: 1000 }];
    profile.clock = Some(MeasuredClock { runs: ClockRuns::default(), places });
    let text = shown(&profile, directory.path(), |_| {}).unwrap();
    assert!(text.contains("/build/src/a.c: 0.0% of the time"), "{text}");
    assert!(text.lines().any(|line| line.contains("90.9%") && line.ends_with("6 | six")), "{text}");
}

#[test]
fn a_narrow_terminal_keeps_room_for_the_code() {
    let directory = tempfile::tempdir().unwrap();
    let long = "x".repeat(200);
    fs::write(directory.path().join("a.c"), SOURCE.replace("six", &long)).unwrap();
    let text = shown(&profile(false), directory.path(), |options| options.width = Some(80)).unwrap();
    let lines: Vec<&str> = text.lines().filter(|line| line.contains(" | ")).collect();
    assert!(lines.iter().all(|line| line.chars().count() <= 80) && lines.len() == 2, "{text}");
    assert!(lines[1].contains("90.9%") && lines[1].ends_with("xxxx…"), "{text}");
}

#[test]
fn only_the_file_that_was_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["a.c", "src/a.c", "/build/src/a.c"] {
        shown(&profile(true), directory.path(), |options| options.file = Some(name.into())).unwrap();
    }
    let error = shown(&profile(true), directory.path(), |options| options.file = Some("b.c".into())).unwrap_err();
    assert!(error.to_string().starts_with("no code of b.c moved data"), "{error}");
}

#[test]
fn the_document_follows_the_schema() {
    let options = Options { file: None, context: None, threshold: 0.0, inlined: Inlined::Own, width: None };
    let annotation = annotate(&profile(true), &Finder::new(&[]), &options).unwrap();
    assert_eq!(crate::document::schema::errors(&document(&profile(true), &annotation)), Vec::<String>::new());
}
