//! Whether a project's own commands may run.
//!
//! Takes what `dmdprof.toml` would have run, prints it and asks, the first time and whenever it has changed; remembers
//! the answer for the directory and exactly these commands (`dmdprof/trusted` in the user's configuration). Without a
//! terminal to ask on only `--trust` is an answer. Refuses to run what nobody has seen. Whoever only runs the cases of
//! the files at hand, as CI does, asks only where somebody can answer ([`can_ask`]).

use std::io::{BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::{Context, bail};
use sha2::{Digest, Sha256};

use super::config::{Case, Config};
use crate::shared::hash::hexadecimal;
use crate::shared::places;
use crate::shared::printable;

/// What would run, a line each.
#[must_use]
pub fn commands(config: &Config, cases: &[Case]) -> Vec<String> {
    let words = |command: &[String]| command.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
    let mut lines = Vec::new();
    if !config.build.is_empty() {
        lines.push(format!("build: {}", words(&config.build)));
    }
    for case in cases {
        let mut line = format!("case {}: {}", quoted(&case.name), words(&case.command));
        for (name, value) in &case.env {
            line.push_str(&format!("\n    with {}", quoted(&format!("{name}={value}"))));
        }
        for (what, path) in [("in", &case.dir), ("reading", &case.stdin)] {
            if let Some(path) = path {
                line.push_str(&format!("\n    {what} {}", quoted(&path.to_string_lossy())));
            }
        }
        lines.push(line);
    }
    lines
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./=,:+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) { word.to_owned() } else { format!("{word:?}") }
}

/// Lets commands of a directory's project run, or not.
///
/// # Errors
/// When they may not, with what to do.
pub fn ask(home: &Path, commands: &[String], trusted: bool) -> anyhow::Result<()> {
    let text = format!("{}\n{}\n", home.display(), commands.join("\n"));
    let seen = places::config().map(|config| config.join("dmdprof/trusted").join(hexadecimal(&Sha256::digest(&text))));
    if seen.as_ref().is_some_and(|seen| seen.is_file()) {
        return Ok(());
    }
    let heading = format!("this runs commands of {}:", home.join(crate::shared::project::CONFIG_FILE).display());
    eprintln!("dmdprof: {}", printable::name(&heading));
    commands.iter().for_each(|line| eprintln!("  {}", printable::lines(line)));
    if !trusted && !confirmed()? {
        bail!("nothing was run: give --trust once if these commands and the revisions' own programs may run");
    }
    seen.map_or(Ok(()), |seen| remember(&seen, &text))
}

/// Whether somebody is there to answer.
#[must_use]
pub fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

fn confirmed() -> anyhow::Result<bool> {
    if !can_ask() {
        return Ok(false);
    }
    eprint!("Run them, and the programs that they build? [y/N] ");
    io::stderr().flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).context("cannot read the answer")?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Where that cannot be written, the question comes again.
fn remember(seen: &PathBuf, text: &str) -> anyhow::Result<()> {
    let written = seen.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(seen, text));
    if let Err(error) = written {
        printable::say(format_args!("note: the answer is not remembered: {}: {error}", seen.display()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_decides_what_runs_is_shown() {
        let case = Case {
            name: "small".into(),
            command: vec!["./prog".into(), "a file".into(), "\u{1b}[2K".into()],
            env: [("LD_PRELOAD".into(), "x.so".into())].into(),
            dir: Some("build".into()),
            stdin: Some("in put".into()),
            ..Case::default()
        };
        let config = Config { build: vec!["make".into(), "CC=dmdprof cc".into()], ..Config::default() };
        let shown = commands(&config, &[case]).join("\n");
        assert_eq!(
            shown,
            "build: make \"CC=dmdprof cc\"\ncase small: ./prog \"a file\" \"\\u{1b}[2K\"\n    with LD_PRELOAD=x.so\n    in build\n    reading \"in put\""
        );
    }
}
