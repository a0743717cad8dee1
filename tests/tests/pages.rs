//! The pages for readers: every link leads somewhere, every page is in the site's contents, and every command of ours
//! runs.
//!
//! A command is a line of an indented block that begins with `$ `, or with `dmdprof` or `make` (what a page lists). In
//! the latter case two spaces end it: a description follows. All commands of a page run in one directory, with dmdprof
//! in PATH. There are `examples/`, and for lists what `tests/pages` makes: `kernel.c`, `./app` and so on. Each must end
//! with 0. What the page prints below is compared where it has an exact number: a line with `ByteDMD N` (N with commas,
//! or a plain integer) and a line `exit code N`. Of the README all lines of a command's block are, word by word, as
//! screens of other widths have other columns between them. A clock's column must be there, with any numbers in it. What
//! is listed runs without the clock and the cycles that come by themselves, but on the pages about these.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::OnceLock,
};

use dmdprof_tests::tool::{dmdprof_path, objects_dir, repository, require, scratch};

/// What its page says it is not for a machine that does other work.
const ALONE: &str = "dmdprof machine calibrate";

/// Pages whose commands fetch other projects first; `docs/cases` has what is ours of them.
const FETCHES: [&str; 2] = ["docs/case-studies.md", "docs/first-screen.md"];

fn pages() -> Vec<PathBuf> {
    let root = repository();
    let mut pages: Vec<PathBuf> = ["README.md", "CONTRIBUTING.md"].iter().map(|page| root.join(page)).collect();
    for directory in ["docs", "docs/decisions"] {
        let entries = fs::read_dir(root.join(directory)).expect("the documentation").flatten().map(|e| e.path());
        pages.extend(entries.filter(|path| path.extension().is_some_and(|e| e == "md")));
    }
    pages.sort();
    pages
}

fn read(page: &Path) -> String {
    fs::read_to_string(page).unwrap_or_else(|e| panic!("{}: {e}", page.display()))
}

/// What `](...)` names, outside of indented blocks.
fn links(text: &str) -> Vec<&str> {
    let prose = text.lines().filter(|line| !line.starts_with("    "));
    prose.flat_map(|line| line.split("](").skip(1)).filter_map(|rest| rest.split(')').next()).collect()
}

/// Headings as sites name them.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    let kept = |c: char| match c {
        ' ' => Some('-'),
        c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c.to_ascii_lowercase()),
        _ => None,
    };
    headings.map(|heading| heading.chars().filter_map(kept).collect()).collect()
}

#[test]
fn every_link_leads_somewhere() {
    let mut broken = Vec::new();
    for page in pages() {
        let text = read(&page);
        for link in links(&text).into_iter().filter(|link| !link.contains("://") && !link.starts_with("mailto:")) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = page.parent().expect("a page is in a directory").join(file);
            let target = if file.is_empty() { page.clone() } else { target };
            // The reference is made with the site.
            let is_made = file == "commands.md";
            let is_there = target.exists();
            let has_anchor = anchor.is_empty() || (is_there && anchors(&read(&target)).contains(anchor));
            if !(is_made || is_there && has_anchor) {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn every_page_is_in_the_contents() {
    let docs = repository().join("docs");
    let contents = read(&docs.join("SUMMARY.md"));
    let listed: BTreeSet<PathBuf> = links(&contents).into_iter().map(|link| docs.join(link)).collect();
    let missing: Vec<_> = pages()
        .into_iter()
        .filter(|page| page.starts_with(&docs) && !page.ends_with("SUMMARY.md") && !listed.contains(page))
        .collect();
    assert!(missing.is_empty(), "not in docs/SUMMARY.md: {missing:?}");
}

#[test]
fn the_readme_is_one_screen() {
    let lines = read(&repository().join("README.md")).lines().count();
    assert!(lines <= 150, "{lines} lines");
}

#[test]
fn prose_fits_the_columns() {
    // Pictures, links alone, tables and blocks cannot be broken.
    let is_prose = |line: &&str| !["|", "    ", "![", "["].iter().any(|start| line.starts_with(start));
    let mut wide = Vec::new();
    for page in pages() {
        let text = read(&page);
        let found = text.lines().enumerate().filter(|(_, line)| is_prose(line) && line.chars().count() > 120);
        wide.extend(found.map(|(at, line)| format!("{}:{}: {line}", page.display(), at + 1)));
    }
    assert!(wide.is_empty(), "more than 120 columns:\n{}", wide.join("\n"));
}

/// One command of a page, and the lines that come below it up to the next one.
struct Shown {
    command: String,
    /// It is shown as it is typed, with what it prints; others are listed.
    is_typed: bool,
    output: Vec<String>,
    /// Of them, those of the same block.
    near: usize,
}

/// The commands of a page in their order.
fn commands(text: &str) -> Vec<Shown> {
    let mut found: Vec<Shown> = Vec::new();
    let mut is_near = false;
    for line in text.lines() {
        let Some(line) = line.strip_prefix("    ") else {
            is_near &= line.is_empty();
            continue;
        };
        match (command_of(line), found.last_mut()) {
            (Some(command), _) => {
                let is_typed = line.starts_with("$ ");
                is_near = is_typed;
                found.push(Shown { command: command.to_owned(), is_typed, output: Vec::new(), near: 0 });
            }
            (None, Some(shown)) => {
                shown.output.push(line.trim().to_owned());
                shown.near += usize::from(is_near);
            }
            (None, None) => {}
        }
    }
    found
}

/// The command that a line of a block shows, if it shows one of ours.
fn command_of(line: &str) -> Option<&str> {
    if let Some(typed) = line.strip_prefix("$ ") {
        return Some(typed);
    }
    let listed = line.split("  ").next()?;
    // `dmdprof report [FILE]` is a form, not a command.
    let is_ours = ["dmdprof ", "cargo dmdprof ", "make CC="].iter().any(|start| listed.starts_with(start));
    (is_ours && !listed.contains('[') && listed != ALONE).then_some(listed)
}

/// Lines that must come out as they stand: those with an exact cost or exit code.
fn exact(output: &[String]) -> impl Iterator<Item = &String> {
    let is_exact = |line: &str| {
        line.starts_with("exit code ")
            || line
                .split_once("ByteDMD ")
                .is_some_and(|(_, rest)| rest.len() > 8 && rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    output.iter().filter(move |line| is_exact(line))
}

/// Whether a line that is printed has the words of a line of a page, in their order, and perhaps others. Where a core
/// followed, which numbers and rows there are goes by the system's C library: words of rows count, without numbers.
fn has_words(printed: &str, shown: &str, with_cycles: bool) -> bool {
    let is_row = !with_cycles || shown.contains('%');
    let counts = |word: &&str| is_row && !(with_cycles && word.contains(|c: char| c.is_ascii_digit()));
    let mut printed = printed.split_whitespace();
    shown.split_whitespace().filter(counts).all(|word| printed.any(|own| own == word))
}

/// Lines of a block as they must come out. Below the head of a clock's column, which is the first one, each line begins
/// with a share that no two runs have in common; how many rows there are without their own goes by the system's libraries.
struct Block<'a> {
    lines: &'a [String],
    with_cycles: bool,
}

impl Block<'_> {
    /// Those that none of the printed lines has the words of.
    fn missing<'a>(&'a self, printed: &'a str) -> impl Iterator<Item = &'a String> {
        let head = self.lines.iter().position(|line| line.split_whitespace().next() == Some("clock"));
        let is_clocked = move |at: usize, line: &str| head.is_some_and(|head| at > head) && line.contains('%');
        let lines = self.lines.iter().enumerate();
        let missing = lines.filter(move |(at, line)| {
            let (shown, is_clocked) = (line.as_str(), is_clocked(*at, line));
            let is_printed = |own: &str| match (is_clocked, without_share(own), without_share(shown)) {
                (true, Some(own), Some(shown)) => {
                    has_words(own, shown.split(" (").next().unwrap_or(shown), self.with_cycles)
                }
                (true, ..) => false,
                (false, ..) => has_words(own, shown, self.with_cycles),
            };
            !printed.lines().any(is_printed)
        });
        missing.map(|(_, line)| line)
    }
}

/// A line without the share that it begins with.
fn without_share(line: &str) -> Option<&str> {
    let (first, rest) = line.trim_start().split_once(' ')?;
    first.strip_suffix('%')?.parse::<f64>().ok().map(|_| rest)
}

/// A directory in which commands of pages run.
struct Place(tempfile::TempDir);

impl Place {
    /// With `examples/` and dmdprof, as a reader of the README has it.
    fn plain() -> Place {
        for program in ["jq", "patch", "git"] {
            let _found = require(program.as_ref(), &format!("install {program} (Debian: apt-get install {program})"));
        }
        let place = Place(scratch());
        place.copy("examples", "examples");
        let programs = place.0.path().join("bin");
        fs::create_dir(&programs).expect("a new directory");
        std::os::unix::fs::symlink(dmdprof_path(), programs.join("dmdprof")).expect("a new link");
        let of_cargo = dmdprof_path().with_file_name("cargo-dmdprof");
        std::os::unix::fs::symlink(of_cargo, programs.join("cargo-dmdprof")).expect("a new link");
        place
    }

    /// With what the pages' lists of commands name, too.
    fn with_everything() -> Place {
        static MADE: OnceLock<Place> = OnceLock::new();
        let made = MADE.get_or_init(|| {
            let place = Place::plain();
            place.copy("tests/pages/.", ".");
            for part in ["runtime/markers", "tests/kernels", "tests/variants", "tests/programs/bench"] {
                place.copy(part, part);
            }
            let manifest = place.0.path().join("runtime/markers/Cargo.toml");
            let text = fs::read_to_string(&manifest).expect("a manifest");
            fs::write(manifest, without_workspace(&text)).expect("a manifest");
            let done = place.run("./set-up", false);
            assert!(done.status.success(), "set-up: {}", said(&done));
            place
        });
        let place = Place(scratch());
        copy(&made.0.path().join("."), place.0.path());
        place
    }

    fn copy(&self, from: &str, to: &str) {
        let to = self.0.path().join(to);
        fs::create_dir_all(to.parent().expect("a place in the directory")).expect("a directory");
        copy(&repository().join(from), &to);
    }

    /// Runs a command, as users do if twins come by themselves.
    fn run(&self, command: &str, has_twins: bool) -> Output {
        let here = self.0.path();
        let path = format!("{}:{}", here.join("bin").display(), std::env::var("PATH").unwrap_or_default());
        let mut shell = Command::new("bash");
        // What that one cleans is not what other tests use.
        let objects = if command.starts_with("dmdprof cache ") { here.join("cache") } else { objects_dir() };
        if !has_twins {
            shell.env("DMDPROF_TWIN", "none");
        }
        shell
            .args(["-uc", command])
            .current_dir(here)
            .env("PATH", path)
            .env("NO_COLOR", "1")
            .env("DMDPROF_CACHE_DIR", objects)
            .env("BROWSER", "true")
            .env("XDG_CONFIG_HOME", here.join("config"))
            .env_remove("CARGO_TARGET_DIR")
            .stdin(Stdio::null())
            .output()
            .expect("bash is there")
    }
}

fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").arg(from).arg(to).status();
    assert!(copied.is_ok_and(|status| status.success()), "{} is copied", from.display());
}

/// The manifest of one package of ours as it is outside of the workspace.
fn without_workspace(manifest: &str) -> String {
    let own = manifest.lines().filter(|line| !line.contains(".workspace = true"));
    own.map(|line| if line == "[package]" { "[package]\nversion = \"0.1.0\"\nedition = \"2024\"" } else { line })
        .collect::<Vec<_>>()
        .join("\n")
}

fn said(out: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr))
}

fn run_page(page: &str, place: &Place) {
    let commands = commands(&read(&repository().join(page)));
    assert!(!commands.is_empty(), "{page} has commands");
    let is_about_twins = ["docs/clock.md", "docs/cycles.md"].contains(&page);
    let mut failures = Vec::new();
    for Shown { command, is_typed, output, near } in commands {
        let out = place.run(&command, is_typed || is_about_twins);
        let said = said(&out);
        if !out.status.success() {
            failures.push(format!("{page}: `{command}` ended with {}:\n{said}", out.status));
        }
        let near = if page == "README.md" { near } else { 0 };
        // A source file has some without being asked for.
        let has_cycles = command.contains("--cycles") || output[..near].iter().any(|line| line.contains(" cycles "));
        let block = Block { lines: &output[..near], with_cycles: has_cycles };
        for line in block.missing(&said) {
            failures.push(format!("{page}: `{command}` prints no words of {line:?}:\n{said}"));
        }
        for line in exact(&output).filter(|line| !said.lines().any(|own| own.trim() == *line)) {
            failures.push(format!("{page}: `{command}` does not print {line:?}:\n{said}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Tests of pages, each of which begins with what it names; and their list.
macro_rules! pages {
    ($($(#[$attribute:meta])? $test:ident: $page:literal in $place:ident;)*) => {
        const RUN: &[&str] = &[$($page),*];
        $(#[test] $(#[$attribute])? fn $test() { run_page($page, &Place::$place()); })*
    };
}

pages! {
    commands_of_the_readme_run: "README.md" in with_everything;
    commands_of_the_tutorial_run: "docs/tutorial.md" in plain;
    commands_of_programs_without_hooks_run: "docs/binary.md" in with_everything;
    commands_of_the_ci_page_run: "docs/ci.md" in plain;
    commands_of_the_page_for_optimisers_run: "docs/agents.md" in plain;
    #[ignore = "takes long: `.ci/test --long` runs it"]
    commands_of_tasks_run: "docs/tasks.md" in with_everything;
    #[ignore = "takes long: `.ci/test --long` runs it"]
    commands_of_worked_examples_run: "docs/worked.md" in with_everything;
    #[ignore = "takes long: `.ci/test --long` runs it"]
    commands_of_compiling_run: "docs/compiling.md" in with_everything;
    commands_of_the_gate_run: "docs/gate.md" in with_everything;
    #[ignore = "takes long: `.ci/test --long` runs it"]
    commands_of_revisions_and_history_run: "docs/record.md" in plain;
    commands_of_machines_run: "docs/machines.md" in with_everything;
    commands_of_motion_run: "docs/motion.md" in with_everything;
    commands_of_plans_run: "docs/plan.md" in with_everything;
    #[ignore = "takes long: `.ci/test --long` runs it"]
    commands_of_the_clock_run: "docs/clock.md" in with_everything;
    #[ignore = "takes long: `.ci/test --long` runs it"]
    commands_of_cycles_run: "docs/cycles.md" in with_everything;
    #[ignore = "takes long: `.ci/test --long` runs it"]
    commands_of_rank_run: "docs/rank.md" in with_everything;
    #[ignore = "takes long: `.ci/test --long` runs it"]
    commands_of_rust_run: "docs/rust.md" in with_everything;
    commands_of_scale_run: "docs/scale.md" in with_everything;
    commands_of_sampling_run: "docs/sampling.md" in with_everything;
    commands_of_threads_run: "docs/threads.md" in with_everything;
    commands_of_the_page_run: "docs/view.md" in with_everything;
    #[ignore = "takes long: `.ci/test --long` runs it"]
    commands_of_depths_run: "docs/why-depths.md" in with_everything;
    commands_of_exports_run: "docs/export.md" in with_everything;
}

#[test]
fn no_page_has_commands_that_nothing_runs() {
    for page in pages() {
        let name = page.strip_prefix(repository()).expect("a page of ours").to_str().expect("UTF-8").to_owned();
        let first = commands(&read(&page)).into_iter().next();
        let is_known = RUN.contains(&name.as_str()) || FETCHES.contains(&name.as_str());
        assert!(is_known || first.is_none(), "{name}: nothing runs `{}`", first.map(|s| s.command).unwrap_or_default());
    }
}
