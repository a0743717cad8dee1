//! What a build for the values model adds to C and C++ programs, so that values can be followed through their
//! libraries.
//!
//! Two things: a header that has each unit make its own instances of `std::string`, whose code in libstdc++ has no
//! hooks, and a library with hooks of the C library's functions that call back or copy. The header is left out where a
//! file of dependencies is asked for, as that would name it after it has gone.

use std::{ffi::OsString, fs, path::PathBuf};

use anyhow::Context;

use super::{
    arguments::InputKind,
    plan::{Codegen, OutputPath, Unit},
    rlib,
    scratch::Scratch,
};

/// libstdc++ takes -1 as: no shared instances of strings. Without effect for C, and for other C++ libraries.
const PRELUDE: &str = "\
#pragma GCC system_header
#if defined(__cplusplus) && defined(__has_include)
#if __has_include(<bits/c++config.h>)
#include <bits/c++config.h>
#undef _GLIBCXX_EXTERN_TEMPLATE
#define _GLIBCXX_EXTERN_TEMPLATE -1
#endif
#endif
";
const LIBRARY: &str = include_str!("values_library.c");

/// Clang's words for a unit that is compiled for the values model.
///
/// # Errors
/// When the header cannot be written.
pub fn words(unit: &Unit, scratch: &Scratch) -> anyhow::Result<Vec<OsString>> {
    // For the values model: instructions as they are written, in the order in which they are written. Constructors that
    // are other names of others would start under a name that their callers do not know.
    let mut words: Vec<OsString> = AS_WRITTEN.map(OsString::from).into();
    // Nothing may come before the declaration of a module.
    if unit.kind == InputKind::Source && is_cpp(unit) && !asks_for_dependencies(unit) {
        let prelude = scratch.file("dmdprof-strings.h");
        fs::write(&prelude, PRELUDE).with_context(|| format!("cannot write {}", prelude.display()))?;
        words.extend(["-include".into(), prelude.into()]);
    }
    Ok(words)
}

const AS_WRITTEN: [&str; 6] =
    ["-O1", "-Xclang", "-disable-llvm-passes", "-ffp-contract=off", "-Xclang", "-mno-constructor-aliases"];

fn is_cpp(unit: &Unit) -> bool {
    const EXTENSIONS: [&str; 7] = ["cpp", "cc", "cxx", "C", "c++", "cp", "CPP"];
    let extension = std::path::Path::new(&unit.input).extension().and_then(|e| e.to_str());
    extension.is_some_and(|extension| EXTENSIONS.contains(&extension))
}

fn asks_for_dependencies(unit: &Unit) -> bool {
    unit.arguments.iter().any(|word| {
        let word = word.to_string_lossy();
        ["-M", "-Wp,-M", "--write-dependencies", "--write-user-dependencies"].iter().any(|o| word.starts_with(o))
    })
}

/// The library's only unit, to be compiled like the program's.
///
/// # Errors
/// When its source cannot be written.
pub fn library_unit(scratch: &Scratch) -> anyhow::Result<Unit> {
    let source = scratch.file("dmdprof_library.c");
    fs::write(&source, LIBRARY).with_context(|| format!("cannot write {}", source.display()))?;
    let mut arguments: Vec<OsString> = ["-c", "-fPIC", "-g", "-w"].map(OsString::from).into();
    // The directory has another name each time, and equal sources are to make equal programs.
    let mut same_name = OsString::from("-ffile-prefix-map=");
    same_name.push(scratch.path());
    same_name.push("=/dmdprof");
    arguments.extend([same_name, "-x".into(), "c".into(), source.clone().into()]);
    Ok(Unit {
        input: source.into(),
        kind: InputKind::Source,
        place: OutputPath::Temporary("dmdprof_library.o".into()),
        arguments,
        bitcode: Some(vec!["-emit-llvm".into()]),
        codegen: Codegen { opt_level: 1, function_sections: true },
        save_temps: None,
        reads_stdin: false,
    })
}

/// An archive of the library, from which linkers take what is needed.
///
/// # Errors
/// When it cannot be written.
pub fn archive(object: &std::path::Path, scratch: &Scratch) -> anyhow::Result<PathBuf> {
    let path = scratch.file("libdmdprof_library.a");
    rlib::write_objects(&path, &[object.to_path_buf()])?;
    Ok(path)
}
