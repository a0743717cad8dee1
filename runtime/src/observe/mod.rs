//! What observes accesses: each folder one thing, told of every access, run and end in the order of the program.
//!
//! Takes accesses and affine runs with their cells, and depths from the engine; gives results of its own. Knows nothing
//! of who decodes and of where rings come from. `lines`, `caches` and `hazards` follow beside the engine, `flows` with
//! `patterns` behind it, `liveness` and `optimum` go backwards over what was asked of it; `objects` takes cells apart
//! by data object, `cell_table` says whose cells are, `window` takes single accesses down, `attribution` files what the
//! engine found with its cell.

pub(crate) mod attribution;
pub(crate) mod beside;
pub mod caches;
pub(crate) mod cell_table;
pub mod flows;
pub mod hazards;
pub mod lines;
pub(crate) mod liveness;
pub(crate) mod objects;
pub(crate) mod observer;
pub(crate) mod optimum;
pub mod patterns;
pub mod sample;
pub mod sharing;
pub mod window;
pub mod writer;
