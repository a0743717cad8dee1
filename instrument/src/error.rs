//! Everything that can go wrong between bitcode and object.

use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(
        "no usable libLLVM was found.\n  {0}\nInstall a Rust toolchain with rustup (its libLLVM is used), or set DMDPROF_LLVM to a libLLVM {major} file or its directory",
        major = crate::llvm::REQUIRED_MAJOR
    )]
    NoLlvm(String),
    #[error("cannot read {path}: {source}")]
    Read { path: PathBuf, source: std::io::Error },
    #[error(
        "{path} is not bitcode that LLVM {major} can read: {message}\nIf a newer clang wrote it, use a clang of version {major} or older (set DMDPROF_CLANG)",
        major = crate::llvm::REQUIRED_MAJOR
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
