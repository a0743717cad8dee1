//! What all rooms may use: messages, text fit to be printed, numbers for people and from them, files, hashes, signals,
//! TOML with places.
//!
//! Knows nothing of profiles, commands or programs under profile.

#[macro_use]
pub mod standard;

pub mod hash;
pub mod human;
mod itanium;
pub mod names;
pub mod output_file;
pub mod outputs;
pub mod places;
pub mod printable;
pub mod project;
pub mod quantity;
pub mod settings;
pub mod signals;
pub mod source_file;
pub mod terminal;
pub mod toml_text;

/// Processors that this process may use.
#[must_use]
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
