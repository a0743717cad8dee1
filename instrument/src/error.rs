//! Everything that can go wrong between bitcode and object.

use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(
        "no usable libLLVM was found.\n  {0}\nFor C and C++, install clang from the system's packages (apt install clang), which brings one. For Rust, install a toolchain with \
         rustup, whose own is used. Or set DMDPROF_LLVM to a libLLVM of version {oldest} to {newest} or its directory",
        oldest = crate::llvm::OLDEST,
        newest = crate::llvm::NEWEST
    )]
    NoLlvm(String),
    #[error("cannot read {path}: {source}")]
    Read { path: PathBuf, source: std::io::Error },
    #[error(
        "{path} is not bitcode that LLVM {major} can read: {message}\nIf a newer clang wrote it, use a clang of version {major} or older (set DMDPROF_CLANG)",
        major = crate::llvm::major()
    )]
    Parse { path: PathBuf, message: String },
    #[error("cannot generate code for target {triple}: {message}")]
    Target { triple: String, message: String },
    #[error("the code generator refuses the program: {0}")]
    Codegen(String),
    #[error("cannot write {path}: {message}")]
    Write { path: PathBuf, message: String },
    #[error("the instrumented module is broken, which is a bug in dmdprof: {0}")]
    Broken(String),
}
