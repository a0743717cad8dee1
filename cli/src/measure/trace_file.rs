//! A trace file that is being written.
//!
//! Takes a path and the command, gives the runtime somewhere to write; refuses places that cannot be written to before
//! the program starts, and source files: what is built for one run is gone when the trace is analysed. What was written
//! before a failure stays, and can be replayed up to there.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::Context;
use dmdprof_runtime::{
    analysis::Measurement,
    trace::{End, Start, TraceWriter},
};

use super::follow::command_text;
use crate::{driver::source::is_source, launch::Ending, shared::output_file};

pub struct TraceFile {
    path: PathBuf,
    writer: Arc<TraceWriter>,
}

impl TraceFile {
    /// # Errors
    /// When the file cannot be made, or the command is a source file.
    pub fn create(path: &Path, command: &[OsString]) -> anyhow::Result<Self> {
        anyhow::ensure!(!path.is_dir(), "{} is a directory; name a file for the trace", path.display());
        if let Some(source) = command.first().map(Path::new).filter(|path| is_source(path)) {
            let program = source.file_stem().unwrap_or_default().to_string_lossy();
            anyhow::bail!(
                "{0} would be built for this run only, and a trace is of no use without its program; build it first:\n  \
                 dmdprof build {0} -o {program}, and ./{program} in the place of {0}",
                source.display()
            );
        }
        let file = output_file::create(path)
            .with_context(|| format!("cannot write the trace to {}; name another place", path.display()))?;
        let start = Start { tool_version: env!("CARGO_PKG_VERSION").into(), command: command_text(command) };
        let writer =
            TraceWriter::new(file, &start).context("cannot write the trace: the system gives dmdprof no thread")?;
        Ok(Self { path: path.to_path_buf(), writer: Arc::new(writer) })
    }

    pub fn sink(&self) -> Arc<TraceWriter> {
        Arc::clone(&self.writer)
    }

    /// Bytes written.
    pub fn bytes(&self) -> u64 {
        self.writer.bytes()
    }

    /// Ends the trace.
    ///
    /// # Errors
    /// When some of it could not be written.
    pub fn finish(&self, ending: Ending, measurement: &Measurement) -> anyhow::Result<()> {
        let Ending { code, signal } = ending;
        self.end(&End { code, signal, refused: measurement.refused, unreadable: Vec::new() })
    }

    /// Ends the trace of what was not run here.
    ///
    /// # Errors
    /// As [`Self::finish`].
    pub fn end(&self, end: &End) -> anyhow::Result<()> {
        self.writer.finish(end).with_context(|| {
            format!(
                "the trace {} could not be written to its end; `dmdprof replay` can read it up to there. Name a place with \
                 more room to have all of it",
                self.path.display()
            )
        })
    }
}
