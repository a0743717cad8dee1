//! Stands in for the linker that rustc calls.
//!
//! Takes rustc's linker command line, gives the link's exit code: each of the crate's own objects is replaced by one made
//! from its bitcode, and the hooks are added. rustc leaves an object's bitcode in one of two places: in the section
//! `.llvmbc` (libraries compiled with `-C embed-bitcode=yes`), or beside it (`--emit=llvm-bc`), as programs never embed
//! theirs. Members of rlibs (the standard library among them) are left alone.
//!
//! rustc starts it as `dmdprof` with [`ENVIRONMENT`] set, not as a script: temporary directories may forbid programs.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, anyhow, bail};
use object::{Object, ObjectSection};

use super::{InstrumentRequest, Model, Toolbox, clang, execute, plan::LinkKind, response, scratch::Scratch};

/// Set to the code generator's level (`0` to `3`) in the environment of rustc; its presence makes `dmdprof` a linker.
pub const ENVIRONMENT: &str = "DMDPROF_RUST_LINK";

/// Directory for `--dump-ir`, handed through rustc.
pub const DUMP_ENVIRONMENT: &str = "DMDPROF_RUST_LINK_DUMP_IR";

/// What the hooks are for: `values` or `loops`; nothing else means the memory model.
pub const MODEL_ENVIRONMENT: &str = "DMDPROF_RUST_LINK_MODEL";

/// Was this process started by rustc, in place of the linker? To be asked before the command line is parsed.
#[must_use]
pub fn requested() -> bool {
    env::var_os(ENVIRONMENT).is_some()
}

/// The model that the hooks of this link are for.
#[must_use]
pub fn requested_model() -> Model {
    match env::var(MODEL_ENVIRONMENT).as_deref() {
        Ok("values") => Model::Values,
        Ok("loops") => Model::Loops,
        _ => Model::Memory,
    }
}

/// What a word of the command line is to us.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Word {
    /// An object that rustc made from the crate being compiled.
    CrateObject(PathBuf),
    /// A Rust library: an archive of such objects.
    #[expect(dead_code, reason = "the place where members of rlibs will be replaced")]
    Library(PathBuf),
    Other(OsString),
}

/// The linker's whole life: from rustc's words to the exit code.
#[must_use]
pub fn link(args: &[OsString], tools: &Toolbox) -> i32 {
    match try_link(args, tools) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("dmdprof: {error:#}");
            1
        }
    }
}

fn try_link(args: &[OsString], tools: &Toolbox) -> anyhow::Result<i32> {
    let scratch = Scratch::new()?;
    let args = response::expand(args);
    let kind = if args.iter().any(|a| a == "-shared") { LinkKind::SharedLibrary } else { LinkKind::Program };
    let mut words: Vec<OsString> = vec![execute::write_hooks(&scratch, tools.hooks_object)?.into()];
    words.extend(kind.options());
    for (index, arg) in args.iter().enumerate() {
        words.push(match classify(arg) {
            Word::CrateObject(object) => instrumented(&object, index, &scratch, tools)?.into(),
            Word::Library(path) => path.into(),
            Word::Other(word) => word,
        });
    }
    let file = scratch.file("arguments");
    fs::write(&file, response::quote(&words)).with_context(|| format!("cannot write {}", file.display()))?;
    let mut linker = Command::new(real_linker(tools)?);
    linker
        .arg(execute::joined("@", file.as_os_str()))
        .env_remove(ENVIRONMENT)
        .env_remove(DUMP_ENVIRONMENT)
        .env_remove(MODEL_ENVIRONMENT);
    execute::run(&mut linker)
}

fn classify(word: &OsStr) -> Word {
    match word.to_str() {
        Some(name) if name.ends_with(".rcgu.o") => Word::CrateObject(word.into()),
        _ => Word::Other(word.to_os_string()),
    }
}

/// The object to link instead of this one.
fn instrumented(object: &Path, index: usize, scratch: &Scratch, tools: &Toolbox) -> anyhow::Result<PathBuf> {
    let Some(bitcode) = bitcode_of(object, index, scratch)? else {
        // The shim between `alloc` and the allocator has no bitcode and touches no memory.
        if !is_codegen_unit(object) {
            return Ok(object.to_path_buf());
        }
        bail!(
            "{}: rustc left no bitcode for this object, so it cannot carry hooks (is `lto` or `-C linker-plugin-lto` on?)",
            object.display()
        );
    };
    let name = object.file_name().ok_or_else(|| anyhow!("{} is not a file", object.display()))?;
    let dir = scratch.file(&index.to_string());
    fs::create_dir_all(&dir).with_context(|| format!("cannot create {}", dir.display()))?;
    let replacement = dir.join(name);
    let opt_level = env::var(ENVIRONMENT).map_or(3, |level| super::plan::opt_level(&level));
    let dump_ir = env::var_os(DUMP_ENVIRONMENT).map(PathBuf::from);
    tools
        .instrumenter
        .instrument(&InstrumentRequest {
            bitcode: &bitcode,
            object: &replacement,
            model: tools.model,
            opt_level,
            // As rustc does on Linux.
            function_sections: true,
            data_sections: true,
            flags: &format!("-Copt-level={opt_level}"),
            dump_ir: tools.dump_ir.or(dump_ir.as_deref()),
        })
        .with_context(|| format!("cannot instrument {}", object.display()))?;
    Ok(replacement)
}

/// Objects of codegen units are named `<crate>.<crate>.<hash>-cgu.<n>.rcgu.o`.
fn is_codegen_unit(object: &Path) -> bool {
    object.file_name().and_then(OsStr::to_str).is_some_and(|name| name.contains("-cgu."))
}

fn bitcode_of(object: &Path, index: usize, scratch: &Scratch) -> anyhow::Result<Option<PathBuf>> {
    let content = fs::read(object).with_context(|| format!("cannot read {}", object.display()))?;
    if let Some(embedded) = embedded_bitcode(&content) {
        let path = scratch.file(&format!("{index}.bc"));
        fs::write(&path, embedded).with_context(|| format!("cannot write {}", path.display()))?;
        return Ok(Some(path));
    }
    Ok(beside(object).into_iter().find(|candidate| candidate.is_file()))
}

/// Content of the section `.llvmbc`; rustc also writes empty ones.
fn embedded_bitcode(content: &[u8]) -> Option<&[u8]> {
    let file = object::File::parse(content).ok()?;
    let data = file.section_by_name(".llvmbc")?.data().ok()?;
    (data.len() > 4).then_some(data)
}

/// Where `--emit=llvm-bc` puts the bitcode: `x.y.h-cgu.1.rcgu.bc` for one of several units, `x.bc` for the only one.
fn beside(object: &Path) -> Vec<PathBuf> {
    let Some(name) = object.file_name().and_then(OsStr::to_str) else { return Vec::new() };
    let Some(stem) = name.strip_suffix(".o") else { return Vec::new() };
    let mut candidates = vec![object.with_file_name(format!("{stem}.bc"))];
    if let Some((unit, "0.rcgu")) = stem.split_once("-cgu.") {
        let ends = unit.char_indices().filter(|&(_, c)| c == '.').map(|(at, _)| at);
        candidates.extend(
            ends.collect::<Vec<_>>().into_iter().rev().map(|end| object.with_file_name(format!("{}.bc", &unit[..end]))),
        );
    }
    candidates
}

/// The linker driver that rustc would have called.
///
/// # Errors
/// When there is none.
pub(super) fn real_linker(tools: &Toolbox) -> anyhow::Result<PathBuf> {
    clang::resolve(OsStr::new("cc"))
        .or_else(|| clang::find(super::Face::C, tools.llvm_major).ok().map(|clang| clang.program))
        .ok_or_else(|| {
            anyhow!("no linker: neither cc nor clang is in PATH; install gcc or clang from the system's packages")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bitcode_beside_the_object() {
        let names = |object: &str| {
            beside(Path::new(object)).into_iter().map(|p| p.to_str().unwrap_or_default().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(names("/t/h.h.0123-cgu.0.rcgu.o"), ["/t/h.h.0123-cgu.0.rcgu.bc", "/t/h.h.bc", "/t/h.bc"]);
        assert_eq!(names("/t/h.h.0123-cgu.1.rcgu.o"), ["/t/h.h.0123-cgu.1.rcgu.bc"]);
        assert_eq!(names("/t/h.4fz.rcgu.o"), ["/t/h.4fz.rcgu.bc"]);
    }
}
