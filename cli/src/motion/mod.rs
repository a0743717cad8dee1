//! What loops move: levels, arrays, and the buffers worth keeping.
//!
//! [`convert`] turns a measurement into a [`Motion`](model::Motion), with names that [`sources`] finds;
//! [`file`](mod@file) stores it; [`counts`] says what the bytes are under a policy, in elements; [`buffers`] finds what
//! would end an array's refills; [`sheet`] and [`elements`] make the document; [`removed`] says what the optimiser took
//! away.

pub mod buffers;
pub mod convert;
pub mod counts;
pub mod elements;
pub mod file;
pub mod model;
pub mod removed;
pub mod select;
pub mod sheet;
pub mod sources;
