//! Builds a program from one source file: with hooks for `dmdprof run FILE`, without for `dmdprof time FILE`.
//!
//! With hooks, C, C++ and LLVM IR go through the same path as `dmdprof cc`, Rust through rustc with [`rust_link`] as
//! its linker; without, the same compiler gets the same words alone, and markers do nothing. The program lives in a
//! temporary directory that goes away with the [`BuiltSource`]. The compiler's messages are left as they are.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, bail};

use super::{
    Face, Model, Toolbox, clang,
    execute::{self, joined},
    header, own_generics, plan, rust_link,
    scratch::Scratch,
};

/// The crate that a Rust source may use for regions and inputs, carried along so that `run file.rs` needs no Cargo
/// project.
const MARKERS: &str = include_str!("dmdprof_markers.rs");

/// What a source is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    C,
    Cxx,
    /// Text or bitcode.
    Ir,
    Rust,
}

/// How a source file becomes a program.
#[derive(Clone, Debug, Default)]
pub struct SourceOptions {
    /// `-O`: `0` to `3`, `s`, `z`, `fast`. `None`: 2, for Rust 3.
    pub opt: Option<String>,
    /// Rust: the standard library's own objects stay without hooks.
    pub no_std: bool,
    /// Further words for the compiler.
    pub extra: Vec<OsString>,
    /// Of a build without hooks.
    pub warnings: Warnings,
}

/// Whether the compiler warns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Warnings {
    /// As it does by itself.
    #[default]
    Shown,
    /// Of errors only.
    Hidden,
}

/// A program that exists as long as this value does.
#[derive(Debug)]
pub struct BuiltSource {
    /// Its file.
    pub program: PathBuf,
    _scratch: Scratch,
}

/// What the compiler made of the source is the user's to mend: its messages have been printed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("compiling {path} failed")]
pub struct CompileFailed {
    /// The source.
    pub path: String,
}

/// Whether a file is there that [`build_source`] accepts.
#[must_use]
pub fn is_source(path: &Path) -> bool {
    language_of(path).is_some() && path.is_file()
}

/// The language of a file that [`build_source`] accepts, by its extension.
#[must_use]
pub(crate) fn language_of(path: &Path) -> Option<Language> {
    match path.extension()?.to_str()? {
        "c" => Some(Language::C),
        "cc" | "cpp" | "cxx" | "C" | "c++" => Some(Language::Cxx),
        "ll" | "bc" => Some(Language::Ir),
        "rs" => Some(Language::Rust),
        _ => None,
    }
}

/// Builds with hooks.
///
/// # Errors
/// [`CompileFailed`] when the compiler refused the source (exit code 1); otherwise what is missing on this machine.
pub fn build_source(path: &Path, options: &SourceOptions, tools: &Toolbox) -> anyhow::Result<BuiltSource> {
    let hooked = |build: &Build, language| match language {
        Language::Rust => rust(build, tools),
        _ => Ok(execute::compile(face(language), &clang_words(build), tools)),
    };
    build(path, options, hooked)
}

/// Builds without hooks, by the compiler and at the optimisation of [`build_source`] in the memory model.
///
/// # Errors
/// As [`build_source`].
pub(crate) fn build_plain(path: &Path, options: &SourceOptions, tools: &Toolbox) -> anyhow::Result<BuiltSource> {
    let plain = |build: &Build, language| match language {
        Language::Rust => plain_rust(build, tools),
        _ => plain_clang(build, face(language), tools),
    };
    build(path, options, plain)
}

/// One source on its way to a program.
struct Build<'a> {
    path: &'a Path,
    options: &'a SourceOptions,
    scratch: &'a Scratch,
    program: &'a Path,
}

/// `compile` gives the compiler's exit code.
fn build(
    path: &Path,
    options: &SourceOptions,
    compile: impl FnOnce(&Build, Language) -> anyhow::Result<i32>,
) -> anyhow::Result<BuiltSource> {
    let Some(language) = language_of(path) else {
        bail!("{}: not a source file that can be built (.c, .cc, .cpp, .cxx, .rs, .ll, .bc)", path.display());
    };
    fs::metadata(path).with_context(|| format!("cannot read {}", path.display()))?;
    let scratch = Scratch::for_programs()?;
    let program = scratch.path().join("bin").join(program_name(path));
    fs::create_dir_all(scratch.file("bin")).with_context(|| format!("cannot create {}", scratch.path().display()))?;
    let code = compile(&Build { path, options, scratch: &scratch, program: &program }, language)?;
    if code != 0 || !program.is_file() {
        return Err(CompileFailed { path: path.display().to_string() }.into());
    }
    Ok(BuiltSource { program, _scratch: scratch })
}

/// IR may come from C++, whose library does no harm to others.
fn face(language: Language) -> Face {
    if language == Language::C { Face::C } else { Face::Cxx }
}

fn program_name(path: &Path) -> OsString {
    path.file_stem().unwrap_or(OsStr::new("program")).to_os_string()
}

fn clang_words(build: &Build) -> Vec<OsString> {
    let level = build.options.opt.as_deref().unwrap_or("2");
    let mut args: Vec<OsString> = vec![format!("-O{level}").into(), "-g".into()];
    args.extend(build.options.extra.iter().cloned());
    args.push(plain_path(build.path));
    args.extend(["-o".into(), build.program.into(), "-lm".into(), "-lpthread".into()]);
    args
}

fn plain_clang(build: &Build, face: Face, tools: &Toolbox) -> anyhow::Result<i32> {
    let markers = header::inert(build.scratch)?;
    let mut command = clang::find(face, tools.llvm_major)?.command();
    if build.options.warnings == Warnings::Hidden {
        command.arg("-w");
    }
    execute::run(command.args(header::words(build.scratch)?).args(clang_words(build)).arg(markers))
}

fn rust(build: &Build, tools: &Toolbox) -> anyhow::Result<i32> {
    let values = tools.model == Model::Values;
    // As written: no optimiser merges, moves or drops an instruction.
    let level = if values { "0" } else { rust_level(build) };
    let mut command = rustc();
    command.arg("--emit=link,llvm-bc");
    common_flags(&mut command, level, values);
    hook_flags(&mut command);
    if values {
        own_generics::demand(&mut command, rustc);
    }
    command.arg(joined("-Clinker=", &linker_program()?));
    let settings = rust_link::Settings {
        opt_level: plan::opt_level(level),
        model: tools.model,
        no_std: build.options.no_std,
        dump_ir: tools.dump_ir.map(Path::to_path_buf),
        ..rust_link::Settings::default()
    };
    settings.give(&mut command);
    crate_of(build, command, |markers| {
        common_flags(markers, level, values);
        hook_flags(markers);
    })
}

fn plain_rust(build: &Build, tools: &Toolbox) -> anyhow::Result<i32> {
    let mut command = rustc();
    common_flags(&mut command, rust_level(build), false);
    command.arg(joined("-Clinker=", rust_link::real_linker(tools)?.as_os_str()));
    if build.options.warnings == Warnings::Hidden {
        command.arg("--cap-lints=allow");
    }
    crate_of(build, command, |markers| common_flags(markers, rust_level(build), false))
}

fn rust_level<'a>(build: &Build<'a>) -> &'a str {
    build.options.opt.as_deref().unwrap_or("3")
}

/// Compiles the source with this rustc, and before it the markers crate, with its own flags, if the source names it.
fn crate_of(build: &Build, mut command: Command, marker_flags: impl FnOnce(&mut Command)) -> anyhow::Result<i32> {
    let source = fs::read_to_string(build.path).with_context(|| format!("cannot read {}", build.path.display()))?;
    let name = crate_name(build.path);
    command.args(["--crate-type=bin", "--crate-name", &name, "-Clinker-flavor=gcc"]);
    command.arg("--out-dir").arg(build.scratch.path());
    if source.contains("dmdprof_markers") {
        let Some(markers) = markers(build.scratch, marker_flags)? else { return Ok(1) };
        command.arg("--extern").arg(joined("dmdprof_markers=", markers.as_os_str()));
    }
    command.args(&build.options.extra).arg(plain_path(build.path));
    let code = execute::run(&mut command)?;
    if code == 0 {
        let built = build.scratch.file(&name);
        fs::rename(&built, build.program).with_context(|| format!("rustc left no {}", built.display()))?;
    }
    Ok(code)
}

fn common_flags(command: &mut Command, level: &str, values: bool) {
    command.args(["--edition=2024", "-Cdebuginfo=2", "-Ccodegen-units=1", "-Clto=off", "-Cembed-bitcode=yes"]);
    // With generic arguments in the names of functions.
    command.arg("-Csymbol-mangling-version=v0");
    command.arg(format!("-Copt-level={level}"));
    if values {
        // The checks that unoptimised code has would be part of what is measured.
        command.args(["-Coverflow-checks=off", "-Cdebug-assertions=off"]);
    }
    command.arg("--check-cfg=cfg(dmdprof)");
}

/// What makes the markers record.
fn hook_flags(command: &mut Command) {
    command.arg("--cfg=dmdprof");
}

/// Compiles the markers crate into the scratch directory; `None` when rustc refused.
fn markers(scratch: &Scratch, flags: impl FnOnce(&mut Command)) -> anyhow::Result<Option<PathBuf>> {
    let source = scratch.file("dmdprof_markers.rs");
    let library = scratch.file("libdmdprof_markers.rlib");
    fs::write(&source, MARKERS).with_context(|| format!("cannot write {}", source.display()))?;
    let mut command = rustc();
    command.args(["--crate-type=rlib", "--crate-name=dmdprof_markers", "--out-dir"]).arg(scratch.path());
    flags(&mut command);
    // The directory has another name each time, and equal sources are to make equal programs.
    let mut same_name = joined("--remap-path-prefix=", scratch.path().as_os_str());
    same_name.push("=/dmdprof");
    command.arg(same_name).arg(&source);
    Ok((execute::run(&mut command)? == 0).then_some(library))
}

fn rustc() -> Command {
    let mut command = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    // Settings of a surrounding `cargo run` are about another crate.
    command.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS");
    command
}

/// This program, which rustc will call as its linker.
fn linker_program() -> anyhow::Result<OsString> {
    Ok(env::current_exe().context("cannot find the path of dmdprof itself")?.into_os_string())
}

/// The path as given, unless it looks like an option or a response file.
fn plain_path(path: &Path) -> OsString {
    let odd = path.as_os_str().as_bytes().first().is_some_and(|first| matches!(first, b'-' | b'@'));
    if odd { Path::new(".").join(path).into() } else { path.into() }
}

/// A name that rustc accepts for the crate of this file.
fn crate_name(path: &Path) -> String {
    let stem = program_name(path);
    let name: String =
        stem.to_string_lossy().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if name.starts_with(|c: char| c.is_ascii_digit()) || name.is_empty() { format!("_{name}") } else { name }
}
