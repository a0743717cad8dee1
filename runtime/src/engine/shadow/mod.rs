//! From an address to what the stack knows about that byte: the last position at which it was touched.
//!
//! `cells` finds and holds the cells, `ranges` reads and changes bytes of any number, `words` many words at a constant
//! distance, `parts` what parts of a run need.

mod cells;
mod parts;
mod ranges;
mod words;

pub use cells::{Shadow, page_room};
pub use ranges::{NewPositions, Run};
pub use words::Spaced;
