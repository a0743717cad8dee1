//! One run's numbers: [`model`] says what a profile holds, [`file`](mod@file) how it is stored, [`validate`] what every
//! reader may rely on.

pub mod file;
pub mod model;
pub mod validate;

#[cfg(test)]
pub mod sample;

pub use file::{DEFAULT_FILE, ReadError, WriteError, check_writable, read, write};
pub use model::Profile;
