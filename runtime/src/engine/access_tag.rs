//! What the caller of the engine calls an access by.

use crate::numbers::number;

number! {
    /// What the caller calls an access, or a stream of an affine run, by: handed back with what was found, and never
    /// looked at.
    AccessTag
}
