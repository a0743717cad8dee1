//! What reports say of how a program was built: that it was without optimisation, or without debug information, and
//! which flag changes that. An optimised program hears nothing.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::Stdio,
};

use dmdprof_tests::{
    cargo::hooked,
    profiled::Report,
    tool::{clang, dmdprof, scratch, succeed},
};

const KERNEL: &str = "\
    #include <stdlib.h>\n\
    int main(void) {\n\
        volatile char *p = malloc(64);\n\
        int sum = 0;\n\
        for (int i = 0; i < 64; i++) p[i] = 1;\n\
        for (int i = 0; i < 64; i++) sum += p[i];\n\
        return sum != 64;\n\
    }\n";

/// What the table and the JSON of a run say.
fn said(directory: &Path, words: &[&OsStr]) -> Vec<String> {
    let profile = directory.join("dmdprof.data");
    let mut run = dmdprof();
    run.arg("run").arg("-o").arg(&profile).arg("--quiet").args(words).current_dir(directory).stdin(Stdio::null());
    succeed(&mut run);
    said_of(&profile)
}

fn said_of(profile: &Path) -> Vec<String> {
    let report = Report::read(profile);
    let notes: Vec<String> = report.0["built"]
        .as_array()
        .map(|notes| notes.iter().map(|note| note.as_str().expect("text").to_owned()).collect())
        .unwrap_or_default();
    let table = succeed(dmdprof().arg("report").arg(profile));
    let table = String::from_utf8(table.stdout).expect("text");
    let lines = table.lines().filter(|line| line.starts_with("built "));
    assert_eq!(lines.map(str::to_owned).collect::<Vec<_>>(), notes, "{table}");
    notes
}

fn words<'a>(words: &'a [&'a str]) -> Vec<&'a OsStr> {
    words.iter().map(OsStr::new).collect()
}

/// A program of `dmdprof cc`.
fn compiled(directory: &Path, arguments: &[&str]) -> PathBuf {
    let program = directory.join("a.out");
    succeed(dmdprof().arg("cc").args(arguments).arg("-o").arg(&program).current_dir(directory));
    program
}

#[test]
fn sources_and_programs_without_optimisation() {
    let directory = scratch();
    let directory = directory.path();
    fs::write(directory.join("kernel.c"), KERNEL).expect("written");
    let notes = said(directory, &words(&["-O0", "kernel.c"]));
    let begin = "built without optimisation (-O0): spills and reloads of every variable are measured; ";
    assert_eq!(notes, [format!("{begin}leave out -O0")]);
    let annotated = succeed(dmdprof().arg("annotate").current_dir(directory)).stdout;
    assert!(String::from_utf8_lossy(&annotated).contains(begin), "other reports of the profile say it too");
    assert_eq!(said(directory, &words(&["kernel.c"])), [""; 0]);
    for (flags, note) in [
        (&["-O0", "kernel.c"][..], Some("built without optimisation (-O0)")),
        (&["kernel.c"], Some("built without optimisation")),
        (&["-O2", "-O0", "kernel.c"], Some("built without optimisation (-O0)")),
        (&["-fno-inline", "kernel.c"], Some("built without optimisation (no -O)")),
        (&["-O0", "-O1", "kernel.c"], None),
        (&["-O", "kernel.c"], None),
        (&["-Os", "kernel.c"], None),
        (&["--optimize=2", "kernel.c"], None),
        (&["-O2", "-g0", "kernel.c"], None),
    ] {
        let notes = said(directory, &[compiled(directory, flags).as_os_str()]);
        assert_eq!(notes.is_empty(), note.is_none(), "{flags:?}: {notes:?}");
        if let Some(note) = note {
            assert!(notes[0].starts_with(note) && notes[0].ends_with("; compile with -O2"), "{flags:?}: {notes:?}");
        }
    }
}

#[test]
fn one_object_without_optimisation_is_a_part() {
    let directory = scratch();
    let directory = directory.path();
    fs::write(directory.join("kernel.c"), KERNEL).expect("written");
    fs::write(directory.join("other.c"), "int other(int x) { return x + 1; }\n").expect("written");
    for (source, level) in [("kernel.c", "-O2"), ("other.c", "-O0")] {
        succeed(dmdprof().args(["cc", level, "-c", source]).current_dir(directory));
    }
    let notes = said(directory, &[compiled(directory, &["kernel.o", "other.o"]).as_os_str()]);
    assert!(notes.len() == 1 && notes[0].starts_with("built in part without optimisation (-O0)"), "{notes:?}");
}

/// The level of the last command says nothing of code that an earlier one optimised, or marked as not to be optimised.
#[test]
fn code_that_was_made_before() {
    let directory = scratch();
    let directory = directory.path();
    fs::write(directory.join("kernel.c"), KERNEL).expect("written");
    let lines = "built without debug information, so nothing has lines: compile with -g";
    for (level, debug, optimised) in
        [("-O2", "-g", true), ("-O2", "-g0", true), ("-O0", "-g", false), ("-O0", "-g0", false)]
    {
        succeed(
            std::process::Command::new(clang(false))
                .args([level, debug, "-S", "-emit-llvm", "kernel.c"])
                .current_dir(directory),
        );
        let built = [
            said(directory, &words(&["kernel.ll"])),
            said(directory, &[compiled(directory, &["kernel.ll"]).as_os_str()]),
            said(directory, &[compiled(directory, &["-O2", "kernel.ll"]).as_os_str()]),
        ];
        for notes in built {
            assert_eq!(
                notes.iter().any(|note| note.starts_with("built without optimisation")),
                !optimised,
                "{level} {debug}: {notes:?}"
            );
            assert_eq!(notes.iter().any(|note| note == lines), debug == "-g0", "{level} {debug}: {notes:?}");
        }
    }
}

/// Functions of C++ that construct variables are not marked as the others are.
#[test]
fn cxx_that_was_made_before() {
    let directory = scratch();
    let directory = directory.path();
    let text =
        "#include <vector>\nstd::vector<int> v(10);\nint main() { int s = 0; for (int x : v) s += x; return s; }\n";
    fs::write(directory.join("kernel.cc"), text).expect("written");
    for (level, again, optimised) in [("-O0", "-O2", false), ("-O2", "-O0", true)] {
        let mut before = std::process::Command::new(clang(true));
        succeed(before.args([level, "-g", "-S", "-emit-llvm", "kernel.cc"]).current_dir(directory));
        let program = directory.join("a.out");
        succeed(dmdprof().args(["c++", again, "kernel.ll", "-o"]).arg(&program).current_dir(directory));
        let notes = said(directory, &[program.as_os_str()]);
        assert_eq!(notes.is_empty(), optimised, "{level}: {notes:?}");
    }
}

#[test]
fn the_dev_profile_of_cargo() {
    let directory = scratch();
    let project = directory.path().join("project");
    fs::create_dir_all(project.join("src")).expect("a folder");
    fs::write(
        project.join("Cargo.toml"),
        "[package]\nname = \"project\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n",
    )
    .expect("written");
    fs::write(
        project.join("src/main.rs"),
        "fn main() {\n    let v = vec![1u64; 100];\n    println!(\"{}\", v.iter().sum::<u64>());\n}\n",
    )
    .expect("written");
    let run = |flags: &[&str]| {
        let mut command = hooked(directory.path(), &[], &[&["run", "--quiet"], flags].concat());
        succeed(command.current_dir(&project).env("CARGO_TARGET_DIR", directory.path().join("target")));
        said_of(&directory.path().join("dmdprof.data"))
    };
    let notes = run(&[]);
    assert!(notes.len() == 1 && notes[0].starts_with("built without optimisation (-Copt-level=0)"), "{notes:?}");
    assert!(notes[0].ends_with("; build with --release"), "{notes:?}");
    assert_eq!(run(&["--release"]), [""; 0]);
}
