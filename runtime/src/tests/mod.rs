//! Small made-up programs for tests, and what is to be measured of them, by plain definitions.
//!
//! One test states: these records of these threads come to these numbers, however they are analysed. `program` is the
//! code, as descriptors have it; `steps` what a thread of it writes down; `random` makes both. `history` says what the
//! steps do, one access after the other. Of a history, `defined` has the numbers by their definitions, each a list or a
//! map that is as simple as can be; `measured` has the same numbers of a measurement, by names. `run` measures: in one
//! piece, in slices, in parts of a trace, by several workers, by threads together. `held` says what anything holds in
//! memory.

pub mod defined;
pub mod held;
pub mod history;
pub mod measured;
pub mod program;
pub mod random;
pub mod run;
pub mod steps;
