//! From the words of a ring to what they say: events, items of segments, and where in the program they happened.
//!
//! Takes words in the layout of [`crate::abi`]. [`locator`] finds the descriptor that a record names, `records` cuts a
//! chunk into records, [`event`] and [`effects`] say what an event and an item do, [`context`] follows the calls,
//! `slots` the variables of running functions, [`sequences`] keeps the calls of chosen functions in order, and [`ring`]
//! is what all analyses have in common in the end. Every analysis starts from these, so none of them reads a word by
//! itself. Refuses words that are neither a known descriptor nor an event: the rest of their chunk cannot be read.

pub mod block;
pub mod context;
pub mod effects;
pub mod event;
pub mod locator;
pub(crate) mod records;
pub(crate) mod regions;
pub mod ring;
pub mod roi;
pub mod sequences;
pub(crate) mod slots;
