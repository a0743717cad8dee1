//! One run's numbers: [`model`] says what a profile holds, [`file`](mod@file) how it is stored, [`validate`] what every
//! reader may rely on, [`Profile::gaps`] what the numbers do not have.

pub mod file;
mod gaps;
pub mod model;
mod printable;
pub mod sections;
pub mod unseen;
pub mod validate;

#[cfg(test)]
pub(crate) mod sample_tests;

pub use file::{DEFAULT_FILE, ReadError, WriteError, check_writable, complete, read, replace, write};
pub use model::Profile;
pub(crate) use printable::for_people;
#[cfg(test)]
pub(crate) use sample_tests as sample;
