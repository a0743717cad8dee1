//! All kinds of hazards: here each is named once.

use super::{
    splits::{split_line, split_page},
    stores::{aliased_load, blocked_forward},
    touch::{RecentStores, Touch},
};

/// Whether an access is a hazard, by itself and the stores before it.
type IsHazard = fn(Touch, &RecentStores) -> bool;

/// Each with its name in profiles, reports and baselines: small letters and `_`.
pub const KINDS: [(&str, IsHazard); 4] = [
    ("split_lines", split_line),
    ("split_pages", split_page),
    ("blocked_forwards", blocked_forward),
    ("aliased_loads", aliased_load),
];

/// The names.
pub const NAMES: [&str; KINDS.len()] = {
    let mut names = [""; KINDS.len()];
    let mut kind = 0;
    while kind < KINDS.len() {
        names[kind] = KINDS[kind].0;
        kind += 1;
    }
    names
};
