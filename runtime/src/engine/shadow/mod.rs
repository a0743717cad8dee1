//! From an address to what the stack knows about that byte: the last position at which it was touched.
//!
//! `pages` finds cells by address, with `regions`, and says which pages have any; `layout` has their sizes. `cells`
//! holds values, with those of single bytes in the `pool`, and `words` does many words at a constant distance. `ranges`
//! reads and changes bytes of any number, also in pages that are lists (`few`). `parts` is what is left of a part of a
//! run.

mod cells;
mod few;
mod layout;
mod pages;
mod parts;
mod pool;
mod ranges;
mod regions;
mod words;

pub use cells::{NewPositions, Run};
pub use layout::page_room;
pub use pages::Shadow;
pub use regions::Rest;
pub use words::{Spaced, arithmetic, position_of};
