//! Which bytes are read again: a sweep from the end to the start of what a ring asked of the engine.
//!
//! Takes operations ([`crate::oplog`]) backwards, gives marks: where bytes die. In memory is one bit per byte of the
//! program.

mod affine;
pub mod bits;
pub mod marks;
pub mod sweep;
