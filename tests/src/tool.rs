//! The programs that the tests drive, and where the tests put things.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The repository.
#[must_use]
pub fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests live in the repository")
}

/// A path in `tests/`.
#[must_use]
pub fn in_tests(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Cargo's target directory of this run: a test is `<target>/<profile>/deps/<name>`, a program lies above `deps`.
#[must_use]
pub fn target_dir() -> &'static Path {
    static TARGET: OnceLock<PathBuf> = OnceLock::new();
    TARGET.get_or_init(|| {
        let executable = std::env::current_exe().expect("the test executable has a path");
        let mut folders = executable.ancestors().skip(1).skip_while(|folder| folder.ends_with("deps"));
        folders.nth(1).expect("<target>/<profile>/<name>").to_path_buf()
    })
}

/// Where compiled programs are kept between test runs.
#[must_use]
pub fn cache_dir() -> PathBuf {
    target_dir().join("tmp").join("dmdprof-programs")
}

/// The `dmdprof` under test: `$DMDPROF_TEST_BINARY`, else this repository's, built in release mode (the depth engine
/// without optimisation would make the tests many times longer) and up to date, with `cargo-dmdprof` beside it.
#[must_use]
pub fn dmdprof_path() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| {
        if let Some(path) = std::env::var_os("DMDPROF_TEST_BINARY") {
            let path = PathBuf::from(path);
            return path.canonicalize().unwrap_or_else(|e| panic!("DMDPROF_TEST_BINARY={}: {e}", path.display()));
        }
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "--release", "--package", "dmdprof", "--bins", "--target-dir"]);
        cargo.arg(target_dir()).current_dir(repository());
        succeed(&mut cargo);
        target_dir().join("release").join("dmdprof")
    })
}

/// Where instrumented objects are kept: all tests share them, as the standard library takes half a minute.
#[must_use]
pub fn objects_dir() -> PathBuf {
    target_dir().join("tmp").join("dmdprof-objects")
}

/// `dmdprof`, ready for arguments, without settings from the developer's environment, and without clocks that nobody
/// asks for, which would run most programs of the tests for another second.
#[must_use]
pub fn dmdprof() -> Command {
    let mut command = Command::new(dmdprof_path());
    command.env_remove("DMDPROF_CHANNEL").env("NO_COLOR", "1").env("DMDPROF_CACHE_DIR", objects_dir());
    command.env("DMDPROF_TWIN", "none");
    command
}

/// Gives a command the variables of another one.
pub fn take_environment(command: &mut Command, from: &Command) {
    for (name, value) in from.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
}

/// A command that is started by another program, with its arguments and its environment.
#[must_use]
pub fn under(mut starter: Command, command: &Command) -> Command {
    starter.arg(command.get_program()).args(command.get_args());
    take_environment(&mut starter, command);
    starter
}

/// `clang` or `clang++`: `$DMDPROF_TEST_CLANG` (`$DMDPROF_TEST_CLANGXX`) if set.
#[must_use]
pub fn clang(cpp: bool) -> PathBuf {
    let (variable, default) = if cpp { ("DMDPROF_TEST_CLANGXX", "clang++") } else { ("DMDPROF_TEST_CLANG", "clang") };
    let name = std::env::var_os(variable).unwrap_or_else(|| default.into());
    require(&name, "install clang 14 or newer (Debian: apt-get install clang)")
}

#[must_use]
pub fn valgrind() -> PathBuf {
    require(OsStr::new("valgrind"), "install valgrind (Debian: apt-get install valgrind)")
}

/// A program on the PATH, or a failure with `advice`.
#[must_use]
pub fn require(name: &OsStr, advice: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .map(|dir| dir.join(name))
        .find(|candidate| candidate.is_file())
        .unwrap_or_else(|| panic!("{} is needed by this test and not on the PATH: {advice}", name.display()))
}

/// Runs to the end, without input, however it ends.
#[must_use]
pub fn output(command: &mut Command) -> Output {
    command.stdin(Stdio::null()).output().unwrap_or_else(|e| panic!("cannot start {command:?}: {e}"))
}

/// A command that takes longer than this hangs.
pub const MOST: Duration = Duration::from_secs(60);

/// The output of a command that must not take for ever.
///
/// # Panics
/// If it does, or cannot be started.
pub fn in_time(command: &mut Command) -> Output {
    within(MOST, command)
}

/// The same for one that may take so long.
///
/// # Panics
/// As [`in_time`].
pub fn within(most: Duration, command: &mut Command) -> Output {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    let started = Instant::now();
    while child.try_wait().expect("a child").is_none() {
        if started.elapsed() > most {
            child.kill().expect("killed");
            panic!("it hangs: {command:?}");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.wait_with_output().expect("its output")
}

/// Runs to the end; fails with everything the command said unless it succeeded.
pub fn succeed(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|e| panic!("cannot start {command:?}: {e}"));
    assert!(output.status.success(), "{command:?} failed\n{}", describe(&output));
    output
}

/// An output in words, for failure messages.
#[must_use]
pub fn describe(output: &Output) -> String {
    let cut = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        match text.char_indices().nth(4000) {
            Some((end, _)) => format!("{} [...]", &text[..end]),
            None => text.into_owned(),
        }
    };
    format!("{}\nstdout:\n{}\nstderr:\n{}", output.status, cut(&output.stdout), cut(&output.stderr))
}

/// Compares byte for byte; the message shows where the first difference is.
pub fn assert_same(what: &str, expected: &[u8], found: &[u8]) {
    if expected == found {
        return;
    }
    let at = expected.iter().zip(found).take_while(|(a, b)| a == b).count();
    let around = |bytes: &[u8]| {
        let end = bytes.len().min(at + 80);
        String::from_utf8_lossy(&bytes[at.saturating_sub(40).min(end)..end]).into_owned()
    };
    panic!(
        "{what}: expected {} bytes, found {}, first difference at byte {at}\nexpected ...{:?}\nfound    ...{:?}",
        expected.len(),
        found.len(),
        around(expected),
        around(found)
    );
}

/// Whether tests do all that they can, which takes an hour, and not what tells most: `DMDPROF_TEST_LONG` is set.
#[must_use]
pub fn is_long() -> bool {
    std::env::var_os("DMDPROF_TEST_LONG").is_some()
}

/// The first so many cases of a list, which tell most; all of them in long tests.
pub fn cases<T, const N: usize>(all: [T; N], short: usize) -> impl Iterator<Item = T> {
    all.into_iter().take(if is_long() { N } else { short })
}

/// An empty directory, removed at the end of the test.
#[must_use]
pub fn scratch() -> tempfile::TempDir {
    tempfile::Builder::new().prefix("dmdprof-test-").tempdir().expect("a temporary directory")
}
