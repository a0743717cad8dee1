//! A program that was typed: built first if it is a source file, with the options of that.
//!
//! Takes a word, gives a path that is there as long as the value is. Refuses what cannot be built or found.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use anyhow::bail;
use clap::Args;
use dmdprof_instrument::Model;
use dmdprof_runtime::sites::{SiteError, SiteTable};

use crate::{
    driver::source::{BuiltSource, SourceOptions, Warnings, build_plain, build_source, is_source},
    launch, toolbox,
};

/// How much the compiler does.
#[derive(Args, Clone, Debug, Default)]
pub struct LevelArg {
    /// With a source file: optimisation level [default: 2 for C and C++, 3 for Rust]
    #[arg(short = 'O', long = "opt", value_name = "LEVEL")]
    pub opt: Option<String>,
}

impl LevelArg {
    /// The program of a word as it is without hooks: built by the compiler of [`CompileArgs::build`] if it is a source
    /// file, else the one that is there.
    ///
    /// # Errors
    /// When it cannot be built or found.
    pub fn plain(&self, typed: &OsString) -> anyhow::Result<Program> {
        self.without_hooks(typed, Warnings::Shown)
    }

    /// The program without hooks of one that was built with hooks just now: what the compiler warns of has been read.
    ///
    /// # Errors
    /// As [`LevelArg::plain`].
    pub fn twin(&self, typed: &OsString) -> anyhow::Result<Program> {
        self.without_hooks(typed, Warnings::Hidden)
    }

    fn without_hooks(&self, typed: &OsString, warnings: Warnings) -> anyhow::Result<Program> {
        let options = SourceOptions { opt: self.opt.clone(), warnings, ..SourceOptions::default() };
        Program::find(typed, |source| build_plain(source, &options, &toolbox::toolbox(None, Model::Memory)))
    }
}

/// How to build a source file with hooks.
#[derive(Args, Clone, Debug, Default)]
pub struct CompileArgs {
    #[command(flatten)]
    pub level: LevelArg,

    /// With a Rust source file: leave the standard library's own objects without hooks
    #[arg(long)]
    pub no_std: bool,

    /// With a source file: write the IR before and after instrumentation into this directory
    #[arg(long, value_name = "DIR")]
    pub dump_ir: Option<PathBuf>,
}

impl CompileArgs {
    /// Builds it.
    ///
    /// # Errors
    /// When it cannot be built, or a level is asked of the values model.
    pub fn build(&self, source: &Path, extra: &[OsString], model: Model) -> anyhow::Result<BuiltSource> {
        if model == Model::Values && self.level.opt.is_some() {
            bail!("-O is about the memory model; in the values model instructions are priced as the source has them");
        }
        let options = SourceOptions {
            opt: self.level.opt.clone(),
            no_std: self.no_std,
            extra: extra.to_vec(),
            ..Default::default()
        };
        build_source(source, &options, &toolbox::toolbox(self.dump_ir.as_deref(), model))
    }
}

/// A program, built first if a source file was named.
pub struct Program {
    pub path: PathBuf,
    /// Keeps a built program's directory until its runs are over.
    _built: Option<BuiltSource>,
}

impl Program {
    /// # Errors
    /// When it cannot be built, or as a [`StartError`] when there is none of that name.
    pub fn find(typed: &OsString, build: impl FnOnce(&Path) -> anyhow::Result<BuiltSource>) -> anyhow::Result<Self> {
        if !is_source(Path::new(typed)) {
            return Ok(Program::from_path(launch::find_program(typed)?));
        }
        let built = build(Path::new(typed))?;
        Ok(Program { path: built.program.clone(), _built: Some(built) })
    }

    /// A file that is there.
    #[must_use]
    pub fn from_path(path: PathBuf) -> Self {
        Program { path, _built: None }
    }

    #[must_use]
    pub fn is_built(&self) -> bool {
        self._built.is_some()
    }

    /// Descriptors in its own file; none where that is no program, as a script.
    ///
    /// # Errors
    /// Those of another version, and damaged ones.
    pub fn sites(&self) -> Result<SiteTable, SiteError> {
        match SiteTable::read(&self.path) {
            Err(SiteError::Read { .. } | SiteError::NotElf { .. }) => Ok(SiteTable::default()),
            other => other,
        }
    }

    /// Whether there are any in its own file, be it of another version.
    #[must_use]
    pub fn has_hooks(&self) -> bool {
        self.sites().map_or(true, |table| !table.functions.is_empty())
    }
}
