//! How a run ended.

use serde::{Deserialize, Serialize};

/// How the program ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// Exit code.
    Exited(i32),
    /// Killed by this signal; the profile holds everything up to that point and is marked incomplete.
    Signaled(i32),
    /// The recording ends before the program did.
    #[default]
    Unknown,
}
