//! The gate of record: ceilings, revisions compared without baselines, the commit that did it, and the history.
//!
//! The repository is made by a script: 100 commits, one of which makes a function read 0.5 % more, two of which make
//! others read less, and three of which do not build.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use dmdprof_tests::tool::{MOST, describe, dmdprof, output, require, scratch};
use serde_json::Value;
use tempfile::TempDir;

const SOURCE: &str = r#"#include <stdio.h>
static long data[4096], more[4096];
__attribute__((noinline)) long parse(int n) {
    long sum = 0;
    for (int i = 0; i < n; i++)
        sum += data[i];
    return sum;
}
__attribute__((noinline)) long solve(int rounds) {
    long sum = 0;
    for (int r = 0; r < rounds; r++)
        for (int i = 0; i < 1000; i++)
            sum += more[i];
    return sum;
}
__attribute__((noinline)) long total(int rounds) {
    long sum = 0;
    for (int r = 0; r < rounds; r++)
        for (int i = 0; i < 1000; i++)
            sum += data[i];
    return sum;
}
int main(int argc, char **argv) {
    (void)argv;
    for (int i = 0; i < 4096; i++)
        data[i] = more[i] = i * argc;
    printf("%ld\n", parse(PARSE) + solve(SOLVE) + total(TOTAL));
    return 0;
}
"#;
const CONFIG: &str = r#"build = ["sh", "build.sh"]
[[case]]
name = "small"
command = ["./prog"]
"#;
const BUILD: &str = r#"if [ -n "$SLOW" ]; then touch "$SLOW"; sleep 60; fi
dmdprof cc -O1 -g prog.c -o prog
"#;
/// Commits are numbered from 1.
const COMMITS: usize = 100;
const WORSE: usize = 57;
const BETTER: [usize; 2] = [20, 80];
const BROKEN: [usize; 3] = [31, 50, 75];

/// A repository with settings and caches of its own.
struct Repository {
    place: TempDir,
}

impl Repository {
    fn new() -> Self {
        let _git = require("git".as_ref(), "install git (Debian: apt-get install git)");
        let repository = Repository { place: scratch() };
        for directory in ["project", "config", "cache", "tmp"] {
            fs::create_dir(repository.place.path().join(directory)).expect("a new directory");
        }
        repository.git(&["init", "--quiet", "--initial-branch=main"]);
        repository.git(&["config", "user.name", "a"]);
        repository.git(&["config", "user.email", "a@b"]);
        repository.write(".gitignore", "prog\ndmdprof.data*\n");
        repository.write("dmdprof.toml", CONFIG);
        repository.write("build.sh", BUILD);
        repository
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path("project").join(name), text).unwrap_or_else(|e| panic!("{name}: {e}"));
    }

    fn git(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("git");
        let date = "2026-01-02T03:04:05Z";
        command.env("GIT_AUTHOR_DATE", date).env("GIT_COMMITTER_DATE", date).env("GIT_CONFIG_GLOBAL", "/dev/null");
        let found = output(command.arg("-C").arg(self.path("project")).args(arguments));
        assert!(found.status.success(), "git {arguments:?}: {}", describe(&found));
        String::from_utf8_lossy(&found.stdout).trim().to_owned()
    }

    fn commit(&self, subject: &str) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "-m", subject]);
        self.git(&["rev-parse", "HEAD"])
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = dmdprof();
        command.args(arguments).current_dir(self.path("project"));
        command.env("XDG_CONFIG_HOME", self.path("config")).env("DMDPROF_CACHE_DIR", self.path("cache"));
        command.env("TMPDIR", self.path("tmp"));
        command.env_remove("GITHUB_ACTIONS").env_remove("GITHUB_STEP_SUMMARY").env_remove("GITHUB_WORKSPACE");
        command
    }

    /// Fails unless it ends with the code; gives standard output and error.
    fn run(&self, code: i32, arguments: &[&str]) -> [String; 2] {
        let found = output(&mut self.command(arguments));
        assert_eq!(found.status.code(), Some(code), "{arguments:?}: {}", describe(&found));
        texts(&found)
    }

    fn json(&self, code: i32, arguments: &[&str]) -> Value {
        let [out, _] = self.run(code, &[arguments, &["--format", "json"]].concat());
        serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out}"))
    }

    /// The program of a commit's number, built here.
    fn source(&self, number: usize) {
        let at = |step: usize, before: u32, after: u32| if number < step { before } else { after };
        let mut text = format!("/* commit {number} */\n{SOURCE}");
        text = text.replace("PARSE", &at(WORSE, 2000, 2010).to_string());
        text = text.replace("SOLVE", &at(BETTER[0], 9, 8).to_string());
        text = text.replace("TOTAL", &at(BETTER[1], 9, 8).to_string());
        if BROKEN.contains(&number) {
            text.push_str("does not compile\n");
        }
        self.write("prog.c", &text);
    }

    fn build(&self) {
        let mut command = dmdprof();
        command.args(["cc", "-O1", "-g", "prog.c", "-o", "prog"]).current_dir(self.path("project"));
        let found = output(&mut command);
        assert!(found.status.success(), "{}", describe(&found));
    }

    fn nothing_is_left(&self) {
        for directory in ["tmp", "project/.git/worktrees"] {
            let left =
                fs::read_dir(self.path(directory)).map(|all| all.flatten().map(|e| e.path()).collect::<Vec<_>>());
            assert!(left.as_ref().is_ok_and(Vec::is_empty) || left.is_err(), "{left:?}");
        }
        assert_eq!(self.git(&["status", "--porcelain"]), "");
    }
}

fn texts(found: &Output) -> [String; 2] {
    [&found.stdout, &found.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned())
}

/// With the baselines that belong to each step, as somebody who uses the gate commits them.
fn scripted() -> (&'static Repository, &'static [String]) {
    static MADE: OnceLock<(Repository, Vec<String>)> = OnceLock::new();
    let (repository, commits) = MADE.get_or_init(|| {
        let repository = Repository::new();
        let mut commits = Vec::new();
        for number in 1..=COMMITS {
            repository.source(number);
            if number == 1 || number == WORSE || BETTER.contains(&number) {
                repository.build();
                repository.run(0, &["check", "--accept"]);
            }
            commits.push(repository.commit(&format!("commit {number}")));
        }
        (repository, commits)
    });
    (repository, commits)
}

fn subject_of(json: &Value) -> String {
    json["source"]["function"].as_str().expect("a function").to_owned()
}

#[test]
fn bisect_finds_the_regression_among_a_hundred_commits_in_nine_builds() {
    let (repository, commits) = scripted();
    let [out, err] = repository.run(0, &["bisect", "--good", &commits[0], "--trust"]);
    let short = &commits[WORSE - 1][..10];
    assert!(out.starts_with(&format!("{short} moved ByteDMD of parse (small)")), "{out}");
    let builds = err.lines().filter(|line| line.contains(": building (")).count();
    assert!((3..=9).contains(&builds), "{builds} builds: {err}");
    assert!(out.contains(&format!("{builds} builds for 99 commits")), "{out}");
    // Again nothing is built, and what it says is for programs too.
    let json = repository.json(0, &["bisect", "--good", &commits[0]]);
    assert_eq!(subject_of(&json), "parse", "{json:#}");
    assert_eq!(json["sheets"][0]["rows"][0]["commit"], short, "{json:#}");
    assert!(json["notes"].to_string().contains("0 builds"), "{json:#}");
    repository.nothing_is_left();
}

#[test]
fn bisect_passes_over_what_does_not_build_and_finds_all_steps() {
    let (repository, commits) = scripted();
    let [out, _] = repository.run(0, &["bisect", "--good", &commits[0], "--function", "solve", "--all", "--trust"]);
    assert!(out.starts_with(&format!("{} moved ByteDMD of solve", &commits[BETTER[0] - 1][..10])), "{out}");
    // 74 is in the middle of 68 and 80, so 75 is tried before 76 or not at all; 50 is in the middle of 44 and 56.
    let [out, _] = repository.run(3, &["bisect", "--good", &commits[43], "--bad", &commits[55], "--trust"]);
    assert!(out.contains("nothing moved"), "{out}");
    let [out, _] =
        repository.run(0, &["bisect", "--good", &commits[42], "--bad", &commits[56], "--metric", "read", "--trust"]);
    assert!(out.contains(&commits[WORSE - 1][..10]), "{out}");
    assert!(out.contains(&format!("{} does not build and was passed over", &commits[49][..10])), "{out}");
    let [_, err] = repository.run(1, &["bisect", "--good", &commits[30], "--trust"]);
    assert!(err.contains("does not build, and an end has to") && err.contains("error:"), "{err}");
    let [_, err] = repository.run(1, &["bisect", "--good", "main", "--bad", &commits[3], "--trust"]);
    assert!(err.contains("is no ancestor"), "{err}");
}

#[test]
fn a_revision_is_compared_without_a_baseline() {
    let (made, commits) = scripted();
    let repository = Repository::new();
    repository.git(&["pull", "--quiet", made.path("project").to_str().expect("UTF-8"), "main"]);
    let before = &commits[WORSE - 2];
    // Nobody has said that its commands may run.
    repository.git(&["reset", "--quiet", "--hard", &commits[WORSE - 1]]);
    let [_, err] = repository.run(2, &["check", "--against", before]);
    assert!(err.contains("build: sh build.sh") && err.contains("case small: ./prog"), "{err}");
    assert!(err.contains("nothing was run") && !repository.path("project/prog").exists(), "{err}");
    let json = repository.json(3, &["check", "--against", before, "--trust"]);
    let finding = &json["cases"][0]["findings"][0];
    let all = json["cases"][0]["findings"].as_array().expect("findings");
    assert!(all.iter().any(|f| f["function"] == "parse" && f["status"] == "worse"), "{finding:#}");
    assert!(json["cases"][0]["baseline"].as_str().expect("a name").starts_with(before.as_str()), "{json:#}");
    // The answer is remembered, for these commands.
    let [out, err] = repository.run(0, &["check", "--against", "HEAD"]);
    assert!(out.contains("small: ok") && !err.contains("this runs commands"), "{out}{err}");
    repository.write("dmdprof.toml", &CONFIG.replace("\"./prog\"", "\"./prog\", \"1\""));
    let [_, err] = repository.run(2, &["check", "--against", "HEAD"]);
    assert!(err.contains("case small: ./prog 1"), "{err}");
    repository.git(&["checkout", "--quiet", "."]);
    let [_, err] = repository.run(1, &["check", "--against", &commits[BROKEN[0] - 1]]);
    assert!(err.contains("does not build") && err.contains("prog.c"), "{err}");
    for hostile in ["--upload-pack=touch x", "no-such", "-x", "$(touch x)", ""] {
        let [_, err] = repository.run(1, &["check", &format!("--against={hostile}")]);
        assert!(err.contains("there is no revision"), "{hostile}: {err}");
    }
    repository.nothing_is_left();
    // A command that was typed needs no case.
    repository.run(3, &["check", "--against", before, "--", "./prog"]);
}

#[test]
fn ctrl_c_leaves_nothing_behind() {
    let (repository, commits) = scripted();
    let own = scratch();
    for signal in ["INT", "TERM"] {
        let mark = own.path().join(signal);
        let mut command = repository.command(&["check", "--trust", "--against", &commits[90]]);
        command
            .env("SLOW", &mark)
            .env("DMDPROF_CACHE_DIR", own.path().join("cache"))
            .env("TMPDIR", own.path().join("tmp"));
        fs::create_dir_all(own.path().join("tmp")).expect("a directory");
        let mut child = command.spawn().expect("started");
        let started = Instant::now();
        while !mark.exists() {
            assert!(started.elapsed() < MOST, "the build does not start");
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(fs::read_dir(own.path().join("tmp")).expect("there").count() > 0, "the build is somewhere");
        let killed = Command::new("kill").arg(format!("-{signal}")).arg(child.id().to_string()).status();
        assert!(killed.expect("kill is there").success());
        let ended = child.wait().expect("ended");
        assert!(!ended.success(), "{ended}");
        assert_eq!(fs::read_dir(own.path().join("tmp")).expect("there").count(), 0, "{signal}");
        let cached = files(&own.path().join("cache"));
        assert!(cached.iter().all(|path| path.ends_with("objects.lock")), "{cached:?}");
        repository.nothing_is_left();
    }
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn ceilings_hold_whatever_the_baseline_says() {
    let repository = Repository::new();
    repository.source(1);
    repository.build();
    let of = |ceilings: &str| repository.write("dmdprof.toml", &format!("{CONFIG}[ceilings]\n{ceilings}\n"));
    of("read = \"1 KiB\"\npeak_live = { soft = \"1 KiB\", hard = \"1 GiB\" }");
    repository.run(0, &["check", "--accept"]);
    let [out, _] = repository.run(3, &["check"]);
    assert!(out.contains("above") && out.contains("<= 1.00 KiB") && !out.contains("--accept"), "{out}");
    // No baseline makes that right.
    let [out, _] = repository.run(3, &["check", "--accept"]);
    assert!(out.contains("small: FAILED"), "{out}");
    of("peak_live = { soft = \"1 KiB\", hard = \"1 GiB\" }");
    let json = repository.json(0, &["check", "--junit", "junit.xml"]);
    let findings = json["cases"][0]["findings"].as_array().expect("findings");
    assert_eq!(
        (findings.len(), &findings[0]["status"], &findings[0]["limit"]),
        (1, &"warned".into(), &"<= 1024".into())
    );
    let junit = fs::read_to_string(repository.path("project/junit.xml")).expect("written");
    assert!(junit.contains("peak_live (ceiling)") && !junit.contains("<failure"), "{junit}");
    // Functions, and what holds nothing.
    of("[ceilings.functions]\nparse = { read = 100 }\n\"sol*\" = { calls = 1 }");
    let [out, _] = repository.run(3, &["check"]);
    assert!(out.contains("parse") && !out.contains("solve"), "{out}");
    of("[ceilings.functions]\nno_such = { read = 100 }");
    let [out, _] = repository.run(3, &["check"]);
    assert!(out.contains("there is no such function; remove the ceiling"), "{out}");
    of("");
    let only = ["check", "--ceilings-only", "--ceiling", "cost<=2e12", "--", "./prog"];
    repository.run(0, &only);
    let [out, _] = repository.run(3, &["check", "--ceilings-only", "--ceiling", "fills(32KiB)<=64", "--", "./prog"]);
    assert!(out.contains("fills(32KiB)"), "{out}");
    let [out, _] = repository.run(0, &["check", "--ceilings-only", "--soft-ceiling", "cost<=2", "--", "./prog"]);
    assert!(out.contains("prog: ok") && out.contains("warning"), "{out}");
    let [_, err] = repository.run(2, &["check", "--ceilings-only", "--", "./prog"]);
    assert!(err.contains("holds nothing without ceilings"), "{err}");
    let lines =
        ["check", "--ceilings-only", "--ceiling", "fills(32KiB)<=1GiB", "--run-option=--line=64", "--", "./prog"];
    let [out, _] = repository.run(3, &lines);
    assert!(out.contains("the run did not measure it"), "{out}");
}
