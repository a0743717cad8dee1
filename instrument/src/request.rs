//! What to instrument and how, and what was done.

use std::path::Path;

/// What the hooks are for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Model {
    /// Accesses of optimised code.
    #[default]
    Memory,
    /// Values of code as the front end wrote it; scalar variables are put into registers first, and nothing else is
    /// changed.
    Values,
    /// Accesses of optimised code, and where iterations of its loops begin.
    Loops,
    /// Accesses of optimised code, all or those of a sample that the program draws while it runs.
    Sampled,
}

/// How code appends a record. What is recorded is the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Append {
    /// Where the record is due: fastest when the program runs.
    #[default]
    InPlace,
    /// By a call of a few instructions: a program half as large, and half the time to generate its code.
    ByCall,
}

/// What to instrument and how to generate code for it.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Bitcode or textual IR.
    pub input: &'a Path,
    /// Where the object goes.
    pub object: &'a Path,
    /// What the hooks are for.
    pub model: Model,
    /// One record for all iterations of a loop whose addresses advance by constants (memory model only); else one per
    /// iteration. What is measured is the same.
    pub loop_records: bool,
    /// How records are appended.
    pub append: Append,
    /// Code generation effort, 0 to 3.
    pub opt_level: u8,
    /// Each function in a section of its own (`-ffunction-sections`).
    pub function_sections: bool,
    /// The compiler's options that change code, to be noted in the object; with none, the optimisation level is.
    pub flags: &'a str,
    /// Directory that receives `NAME.before.ll` and `NAME.after.ll`.
    pub dump_ir: Option<&'a Path>,
}

/// What was done, for messages and tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Functions with hooks.
    pub functions: usize,
    /// Functions without, each for a reason that its descriptors name.
    pub skipped_functions: usize,
    /// Records that their code may append, and call sites.
    pub segments: usize,
    /// Accesses that these describe; steps in the values model.
    pub accesses: usize,
}
