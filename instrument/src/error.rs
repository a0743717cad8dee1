//! Everything that can go wrong between bitcode and object.

use std::path::PathBuf;

use crate::llvm::NoLlvm;

/// Why there is no object.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no library.
    #[error(transparent)]
    NoLlvm(#[from] NoLlvm),
    /// The input cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The input is not what the LLVM in use reads.
    #[error(
        "{path} is not bitcode that LLVM {major} can read: {message}\nIf a newer clang wrote it, use a clang of version {major} or older (set DMDPROF_CLANG)"
    )]
    Parse {
        /// The file.
        path: PathBuf,
        /// Major version of the LLVM in use.
        major: u32,
        /// Why.
        message: String,
    },
    /// The target is not supported.
    #[error("cannot generate code for target {triple}: {message}")]
    Target {
        /// The module's target.
        triple: String,
        /// Why.
        message: String,
    },
    /// LLVM could not make an object.
    #[error("the code generator refuses the program: {0}")]
    Codegen(String),
    /// A file cannot be written.
    #[error("cannot write {path}: {message}")]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        message: String,
    },
    /// The changed module is not valid, which is a fault of dmdprof.
    #[error("the instrumented module is broken, which is a bug in dmdprof: {0}")]
    Broken(String),
}
