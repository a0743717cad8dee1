//! Data motion through loops: which bytes each iteration brings in that the one before it did not have.
//!
//! The running loops give each access a timestamp, the iteration of each from the outermost to the innermost. A *level*
//! keeps the outer part of the timestamps down to one loop; a *tile* of a level is one iteration of that loop, with
//! everything inside it, that accesses something. For an array X, with `current(t)` the set of its bytes that tile `t`
//! touches:
//!
//! - `fill(t) = current(t) - current(previous tile)`: what must be brought in;
//! - `drain(t) = current(t) - current(next tile)`: what is not needed for the next tile;
//! - *fills* and *drains* are the sums of their sizes over all tiles, and equal: each stay of a byte begins and ends
//!   once;
//! - *footprint* is the size of the union, *refills* = fills - footprint;
//! - *peak* is the largest `current(t)`, *capacity* the largest sum over arrays.
//!
//! Previous and next are in the order of execution. With the policy `wrap` the tile before the first of an invocation
//! is the last of the invocation before; with `reset` there is none. Definitions after Emer and Sze, "Calculating data
//! motion".
//!
//! [`loops`] finds the loops in the descriptors, [`nest`] follows which are running, [`movement`] counts, with
//! [`stamps`] for memory, and [`affine`] many iterations at a time; [`machine`] replays records into it.

pub mod affine;
pub mod arrays;
pub mod elements;
pub mod loops;
pub mod machine;
pub mod merge;
pub mod movement;
pub mod nest;
pub mod options;
#[cfg(test)]
mod oracle;
pub mod result;
pub mod rows;
pub mod stamps;

pub use machine::MotionMachine;
pub use options::MotionOptions;
