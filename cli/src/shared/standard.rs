//! The one place that writes messages to standard error, and what standard output is when its reader has gone.
//!
//! The macro takes the place of the standard library's of the same name, which ends the process when nobody takes the
//! message: a pipe whose reader has gone, a full disk, a closed descriptor. What dmdprof is doing then goes on, as a
//! program that is measured does, and the profile is written.

use std::{
    fmt,
    io::{self, Write},
};

/// Prints a line to standard error, if that takes it.
macro_rules! eprintln {
    ($($message:tt)*) => {
        $crate::shared::standard::error(format_args!($($message)*))
    };
}

/// Whether nobody reads what is written: a reader that has seen enough (`| head`) is no error.
#[must_use]
pub fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// Writes a line to standard error, if that takes it.
pub fn error(line: fmt::Arguments<'_>) {
    // In one piece, so that lines of several processes stay lines; nobody is left to hear of a failure.
    let _ = io::stderr().write_all(format!("{line}\n").as_bytes());
}
