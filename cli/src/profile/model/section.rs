//! A part of a profile's file.

use serde::{Deserialize, Serialize};

/// A part of a profile as it lies in its file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Section {
    /// What it is.
    pub name: String,
    /// Bumped whenever the meaning of its content changes.
    pub version: u32,
    /// In postcard.
    pub content: Vec<u8>,
}
