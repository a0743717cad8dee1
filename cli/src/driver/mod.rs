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

pub use dmdprof_instrument::{Append, Model};

pub mod arguments;
pub mod cargo;
pub mod clang;
pub mod doctor;
pub mod execute;
pub mod object_cache;
mod own_generics;
pub mod own_target;
pub mod plan;
pub mod response;
pub mod rlib;
pub mod rust_link;
pub mod rustc_wrap;
pub mod scratch;
pub mod source;
pub mod static_library;
mod values_support;
mod version_script;
pub mod wrap_environment;

/// One bitcode file to turn into one object.
#[derive(Clone, Copy, Debug)]
pub struct InstrumentRequest<'a> {
    pub bitcode: &'a Path,
    pub object: &'a Path,
    pub model: Model,
    pub append: Append,
    /// Level of the code generator, 0 to 3.
    pub opt_level: u8,
    pub function_sections: bool,
    pub data_sections: bool,
    /// The compiler's options that change code, to be noted in the object.
    pub flags: &'a str,
    /// Directory that receives the module's text before and after instrumentation.
    pub dump_ir: Option<&'a Path>,
}

/// Turns bitcode into an object with hooks.
pub trait Instrumenter: Sync {
    /// # Errors
    /// When the bitcode cannot be read, instrumented or compiled, or the object cannot be written.
    fn instrument(&self, request: &InstrumentRequest) -> anyhow::Result<()>;

    /// The object of this bitcode or text as it is, without hooks.
    ///
    /// # Errors
    /// As those of [`Instrumenter::instrument`].
    fn compile(&self, ir: &Path, object: &Path, opt_level: u8) -> anyhow::Result<()>;
}

/// What the driver needs from the rest of the product.
#[derive(Clone, Copy)]
pub struct Toolbox<'a> {
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
