//! The gate of record: ceilings, revisions compared without baselines, the commit that did it, and the history.
//!
//! The repository is made by a script: 100 commits, one of which makes a function read 0.5 % more, two of which make
//! others read less, and three of which do not build.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use dmdprof_tests::tool::{MOST, describe, dmdprof, dmdprof_path, output, require, scratch, under};
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
/// Variables on the stack that share lines in another way when it begins elsewhere.
const STACK: &str = r#"#include <stdio.h>
__attribute__((noinline)) static long fill(int n) {
    char local[700];
    int table[37];
    long sum = 0;
    for (int i = 0; i < 700; i++)
        local[i] = (char)(i * n);
    for (int i = 0; i < 37; i++)
        table[i] = n + i;
    for (int i = 0; i < 700; i += 3)
        sum += local[i] + table[i % 37];
    return n > 0 ? sum + fill(n - 1) : sum;
}
int main(void) {
    printf("%ld\n", fill(200));
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
        assert!(!self.path("project/.git/worktrees").exists(), "git knows of no other directory");
        assert_eq!(self.git(&["status", "--porcelain"]), "");
    }
}

/// On a terminal a plain check asks, too: whoever looks into somebody's repository has not read its configuration.
#[test]
fn a_terminal_is_asked_once() {
    let _script = require("script".as_ref(), "install script (Debian: apt-get install bsdutils)");
    let repository = Repository::new();
    repository.source(1);
    repository.build();
    let on_terminal = |answer: &str| {
        let own = dmdprof_path().display();
        let line = format!("(sleep 0.5; echo {answer}; sleep 0.5) | script -qec '{own} check --accept' /dev/null");
        let mut command = Command::new("sh");
        command.args(["-c", &line]).current_dir(repository.path("project"));
        command.env("XDG_CONFIG_HOME", repository.path("config")).env("DMDPROF_CACHE_DIR", repository.path("cache"));
        texts(&output(&mut command))[0].clone()
    };
    let refused = on_terminal("n");
    assert!(refused.contains("case small: ./prog") && refused.contains("nothing was run"), "{refused}");
    assert!(!repository.path("project/dmdprof").exists(), "{refused}");
    let taken = on_terminal("y");
    assert!(taken.contains("[y/N]") && taken.contains("small: saved"), "{taken}");
    let again = on_terminal("n");
    assert!(!again.contains("[y/N]") && again.contains("small: accepted"), "{again}");
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
    let own = scratch();
    let mut command = repository.command(&["bisect", "--good", &commits[0], "--trust"]);
    let found = output(command.env("TMPDIR", own.path()));
    assert!(found.status.success(), "{}", describe(&found));
    assert_eq!(fs::read_dir(own.path()).expect("there").count(), 0, "checkouts are gone");
    let [out, err] = texts(&found);
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
    repository.git(&["fetch", "--quiet", made.path("project").to_str().expect("UTF-8"), "main"]);
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
    repository.run(3, &["check", "--trust", "--against", before, "--", "./prog"]);
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
        // What the build had started may still be ending.
        let left = || fs::read_dir(own.path().join("tmp")).expect("there").count();
        let ended = Instant::now();
        while left() > 0 && ended.elapsed() < MOST {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(left(), 0, "{signal}");
        let cached = files(&own.path().join("cache"));
        assert!(cached.iter().all(|path| path.ends_with("objects.lock")), "{cached:?}");
        repository.nothing_is_left();
    }
}

#[test]
fn history_from_git_shows_all_three_steps() {
    let (repository, commits) = scripted();
    let json = repository.json(0, &["history", "--from-git"]);
    let rows = json["sheets"][0]["rows"].as_array().expect("rows");
    let shown: Vec<(&str, &str)> = rows
        .iter()
        .map(|row| (row["commit"].as_str().expect("a commit"), row["function"].as_str().unwrap_or("")))
        .collect();
    let short = |number: usize| &commits[number - 1][..10];
    assert_eq!(
        shown,
        [(short(1), ""), (short(BETTER[0]), "solve"), (short(WORSE), "parse"), (short(BETTER[1]), "total")]
    );
    let page = repository.path("history.html");
    let link = "https://example.org/{commit}";
    repository.run(0, &["history", "--from-git", "--html", page.to_str().expect("UTF-8"), "--link", link]);
    let text = fs::read_to_string(&page).expect("written");
    for number in [BETTER[0], WORSE, BETTER[1]] {
        assert!(text.contains(&format!("href=\"https://example.org/{}\"", commits[number - 1])), "{number}");
    }
    assert!(text.contains("<h3>ByteDMD") && text.contains("<h3>traffic(") && !text.contains("<script"), "{text}");
    let [_, err] = repository.run(1, &["history"]);
    assert!(err.contains("which history?"), "{err}");
}

#[test]
fn checks_are_remembered_where_the_user_says() {
    let repository = Repository::new();
    repository.source(WORSE - 1);
    repository.build();
    repository.run(0, &["check", "--accept"]);
    let first = repository.commit("first");
    let places = ["branch:numbers", "notes:numbers", "own", "other/h.jsonl"];
    repository.write(".git/info/exclude", "own\n");
    for place in places {
        repository.run(0, &["check", "--history", place]);
    }
    repository.source(WORSE);
    repository.build();
    // What fails is not remembered.
    repository.run(3, &["check", "--history", "branch:numbers"]);
    repository.run(0, &["check", "--accept"]);
    let second = repository.commit("second");
    for place in places {
        // What is remembered is no change of the files.
        repository.run(0, &["check", "--history", place]);
        repository.run(0, &["check", "--history", place]);
        let json = repository.json(0, &["history", place, "--every"]);
        let rows = json["sheets"][0]["rows"].as_array().expect("rows");
        let commits: Vec<&str> = rows.iter().map(|row| row["commit"].as_str().expect("a commit")).collect();
        assert_eq!(commits, [&first[..10], &second[..10]], "{place}: {json:#}");
        assert_eq!(rows[1]["function"], "parse", "{place}");
    }
    repository.write("dmdprof.toml", &format!("{CONFIG}[history]\nplace = \"../out\"\n"));
    let [_, err] = repository.run(1, &["check"]);
    assert!(err.contains("leads out of its directory") && !repository.path("out").exists(), "{err}");
    let [_, err] = repository.run(1, &["check", "--history", "branch:main"]);
    assert!(err.contains("is checked out"), "{err}");
}

/// The tools of assistants, as one talks to them.
#[test]
fn assistants_have_five_tools() {
    let repository = Repository::new();
    repository.source(1);
    repository.build();
    repository.run(0, &["check", "--accept"]);
    let call = |id: u32, name: &str, arguments: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{name}","arguments":{arguments}}}}}"#
        )
    };
    let requests = [
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}"#.into(),
        call(1, "profile", r#"{"command":["./prog"]}"#),
        call(2, "why", r#"{"top":1}"#),
        call(3, "annotate", "{}"),
        call(4, "check", "{}"),
        call(5, "diff", r#"{"before":"dmdprof/small.toml","after":"dmdprof.data"}"#),
        call(6, "profile", r#"{"command":["./none"]}"#),
        call(7, "check", r#"{"case":"--accept"}"#),
        call(8, "cache", "{}"),
    ];
    fs::write(repository.path("requests"), requests.join("\n")).expect("written");
    let input = fs::File::open(repository.path("requests")).expect("there");
    let found = repository.command(&["mcp"]).stdin(input).output().expect("started");
    let answers: Vec<Value> = texts(&found)[0].lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!((answers.len(), found.status.code()), (requests.len(), Some(0)), "{}", describe(&found));
    for (at, field) in [(1, "functions"), (2, "sheets"), (3, "sheets"), (4, "cases"), (5, "total")] {
        let result = &answers[at]["result"];
        assert!(result["structuredContent"][field].is_array() && result["isError"] == false, "{at}: {result:#}");
    }
    assert_eq!(answers[6]["result"]["isError"], true);
    assert!(answers[7]["result"]["content"][0]["text"].as_str().expect("a text").contains("no case matches"));
    assert!(answers[8]["error"]["message"].as_str().expect("a text").contains("there is no tool"));
}

/// Starts a program that cannot have addresses fixed, as in most containers.
const CONTAINER: &str = r#"#include <errno.h>
#include <stddef.h>
#include <unistd.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
int main(int argc, char **argv) {
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_personality, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
    struct sock_fprog program = { sizeof rules / sizeof *rules, rules };
    if (argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        return 90;
    execv(argv[1], argv + 1);
    return 91;
}
"#;

/// Lines too, though the stack begins elsewhere: not one may be fetched more, by any memory. Every second run is where
/// addresses cannot be fixed.
#[test]
fn surroundings_change_nothing() {
    let repository = Repository::new();
    repository.write("prog.c", STACK);
    repository.build();
    let container = repository.path("container");
    fs::write(repository.path("container.c"), CONTAINER).expect("a file");
    let mut compiler = Command::new("cc");
    assert!(output(compiler.arg(repository.path("container.c")).arg("-o").arg(&container)).status.success());
    let exact = ["cost", "read", "traffic(64)", "traffic(1KiB)", "traffic(32KiB)"]
        .map(|metric| format!("{metric:?} = \"0%\"\n"));
    repository.write(
        "dmdprof.toml",
        &format!("[limits]\n{}{}", exact.concat(), &CONFIG["build = [\"sh\", \"build.sh\"]\n".len()..]),
    );
    repository.run(0, &["check", "--accept"]);
    let runs = std::env::var("DMDPROF_TEST_RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(20);
    for run in 0..runs {
        let place = repository.path(&format!("place-{}", "x".repeat(run * 7 % 97)));
        let copied = Command::new("cp").arg("-a").arg(repository.path("project")).arg(&place).status();
        assert!(copied.expect("cp is there").success());
        let mut command = repository.command(&["check"]);
        if run % 2 == 1 {
            command = under(Command::new(&container), &command);
        }
        command.current_dir(&place);
        for variable in 0..run % 19 {
            command.env(format!("V{variable}"), "y".repeat(run * 37 % 400 + variable));
        }
        let found = output(&mut command);
        assert!(found.status.success(), "run {run}: {}", describe(&found));
        fs::remove_dir_all(&place).expect("removed");
    }
    // The test can fail: runs of which nobody fixes the stack differ.
    let differs = (0..16).any(|run| {
        let mut command = repository.command(&["run", "--quiet", "--line-size", "64", "./prog"]);
        assert!(output(command.env("V", "y".repeat(run * 8))).status.success());
        let checked = output(&mut repository.command(&["check", "--profile", "dmdprof.data", "--baseline", "small"]));
        checked.status.code() == Some(3)
    });
    assert!(differs, "no surroundings make a difference");
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
        ["check", "--ceilings-only", "--ceiling", "fills(32KiB)<=1GiB", "--run-option=--no-lines", "--", "./prog"];
    let [out, _] = repository.run(3, &lines);
    assert!(out.contains("the run did not measure it"), "{out}");
}
