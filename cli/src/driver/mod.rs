//! The compiler driver: makes programs with hooks out of sources, in place of clang, clang++ and rustc's linker.
//!
//! Takes a compiler's command line (`dmdprof cc`, `dmdprof c++`), a source file (`dmdprof run file.c`) or rustc's call
//! of its linker; gives ordinary native objects and programs. Everything that compiles nothing to machine code is
//! clang's own business and goes to clang untouched. Data goes one way:
//!
//! ```text
//! words -> response::expand -> arguments::parse -> plan::plan -> execute
//! ```
//!
//! [`plan`] only decides, [`execute`] only does. How bitcode becomes an object is behind [`Instrumenter`].

use std::path::Path;

pub use dmdprof_instrument::{Append, Model, Request};

pub mod arguments;
pub(crate) mod cargo;
pub(crate) mod clang;
pub mod doctor;
pub mod execute;
mod header;
mod link_inputs;
mod notes;
pub(crate) mod object_cache;
mod own_generics;
pub(crate) mod own_target;
pub mod plan;
mod plan_link;
pub mod response;
pub(crate) mod rlib;
pub mod rust_link;
pub(crate) mod rustc_wrap;
pub(crate) mod scratch;
pub mod source;
pub(crate) mod static_library;
mod thread_storage;
pub(crate) mod twin;
mod values_support;
mod version_script;
pub(crate) mod wrap_environment;

/// Turns bitcode into an object with hooks.
pub trait Instrumenter: Sync {
    /// Gives functions their hooks, and makes machine code of them.
    ///
    /// # Errors
    /// When the bitcode cannot be read, instrumented or compiled, or the object cannot be written.
    fn instrument(&self, request: &Request) -> anyhow::Result<()>;

    /// The object of this bitcode or text as it is, without hooks.
    ///
    /// # Errors
    /// As those of [`Instrumenter::instrument`].
    fn compile(&self, ir: &Path, object: &Path, opt_level: u8) -> anyhow::Result<()>;
}

/// What the driver needs from the rest of the product.
#[derive(Clone, Copy)]
pub struct Toolbox<'a> {
    /// Puts hooks into bitcode.
    pub instrumenter: &'a dyn Instrumenter,
    /// What the hooks are for, unless a command line says otherwise.
    pub model: Model,
    /// The object file with the hooks that every linked program receives.
    pub hooks_object: &'a [u8],
    /// Major version of the LLVM behind `instrumenter`: the newest clang whose bitcode it reads. Asked for only where
    /// it matters, because finding LLVM takes a process.
    pub llvm_major: fn() -> u32,
    /// `--dump-ir DIR`.
    pub dump_ir: Option<&'a Path>,
}

/// Which of clang's two faces is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Face {
    /// `clang`
    C,
    /// `clang++`
    Cxx,
}

/// The symbols that instrumented libraries must find in the program rather than in their own copy of the hooks.
#[must_use]
pub fn hook_symbols() -> [&'static str; 7] {
    use dmdprof_runtime::abi::symbol;
    [symbol::RING, symbol::RESERVE, symbol::MODULE, symbol::CALL, symbol::LANDED, symbol::SIGACTION, symbol::SIGNAL]
}
