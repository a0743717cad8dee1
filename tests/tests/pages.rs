//! The pages for readers: every link leads somewhere, every page is in the site's contents, and the commands of the README, the tutorial and
//! the pages that call themselves runnable do what the pages say.
//!
//! A command is a line of an indented block that begins with `$ `. All commands of a page run in one shell, in a directory that has the
//! repository's `examples/` and nothing else, with dmdprof in PATH. Each must end with 0. What the page prints below is compared where it has an
//! exact number: a line with `ByteDMD N` (N with commas, or a plain integer) and a line `exit code N`.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use dmdprof_tests::tool::{dmdprof_path, repository, require, scratch};

/// Pages whose commands run.
const RUNNABLE: [&str; 4] = ["README.md", "docs/tutorial.md", "docs/ci.md", "docs/agents.md"];

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

/// Commands, each with the lines of the page that come below it in its block and in the indented blocks up to the next command.
fn commands(text: &str) -> Vec<(String, Vec<String>)> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("    ")) {
        match (line.strip_prefix("$ "), found.last_mut()) {
            (Some(command), _) => found.push((command.to_owned(), Vec::new())),
            (None, Some((_, output))) => output.push(line.trim().to_owned()),
            (None, None) => {}
        }
    }
    found
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

fn run_page(page: &str) {
    for program in ["jq", "patch"] {
        let _found = require(program.as_ref(), &format!("install {program} (Debian: apt-get install {program})"));
    }
    let scratch = scratch();
    let here = scratch.path();
    let copied = Command::new("cp").arg("-r").arg(repository().join("examples")).arg(here).status();
    assert!(copied.is_ok_and(|status| status.success()), "the examples are copied");
    fs::create_dir(here.join("bin")).expect("a new directory");
    std::os::unix::fs::symlink(dmdprof_path(), here.join("bin/dmdprof")).expect("a new link");
    let path = format!("{}:{}", here.join("bin").display(), std::env::var("PATH").unwrap_or_default());

    let commands = commands(&read(&repository().join(page)));
    assert!(!commands.is_empty(), "{page} has commands");
    for (command, printed) in commands {
        let out = Command::new("bash")
            .args(["-uc", &command])
            .current_dir(here)
            .env("PATH", &path)
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .output()
            .expect("bash is there");
        let said = format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
        assert!(out.status.success(), "{page}: `{command}` ended with {}:\n{said}", out.status);
        for line in exact(&printed) {
            assert!(said.lines().any(|own| own.trim() == line), "{page}: `{command}` does not print {line:?}:\n{said}");
        }
    }
}

#[test]
fn commands_of_the_readme_run() {
    run_page(RUNNABLE[0]);
}

#[test]
fn commands_of_the_tutorial_run() {
    run_page(RUNNABLE[1]);
}

#[test]
fn commands_of_the_ci_page_run() {
    run_page(RUNNABLE[2]);
}

#[test]
fn commands_of_the_page_for_optimisers_run() {
    run_page(RUNNABLE[3]);
}

#[test]
fn no_page_has_commands_that_nothing_runs() {
    // Pages that show long runs and what came out, of programs that other tests run.
    let shown = ["docs/worked.md", "docs/plan.md", "docs/rank.md"];
    for page in pages() {
        let name = page.strip_prefix(repository()).expect("a page of ours").to_str().expect("UTF-8").to_owned();
        let first = commands(&read(&page)).into_iter().next();
        let is_known = RUNNABLE.contains(&name.as_str()) || shown.contains(&name.as_str());
        assert!(is_known || first.is_none(), "{name}: nothing runs `{}`", first.unwrap_or_default().0);
    }
}
