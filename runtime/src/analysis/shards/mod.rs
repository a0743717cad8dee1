//! One ring on many processors: its records are cut into slices, which are replayed side by side.
//!
//! `ring` goes over the records as they come (`super::scan`) and cuts them; a `part` replays a slice on a stack of its
//! own, with counters of its own; `whole` answers, slice by slice, what the slices did not know, on the stack of all
//! that was before. `turns` has slices done side by side and resolved in order, by the threads of the `pool`, which all
//! rings share. If flows are followed, `first_pass` goes over slices before. Nothing depends on where a run is cut, or
//! on who replays what: every byte is found at the same depth as by one engine, and everything else is added up.
//!
//! Takes rings of the memory model. Refuses analyses that need all accesses in order (`Options::in_one_piece`).

mod common;
mod first_pass;
mod owners;
pub(super) mod pool;
mod ring;
pub(super) mod slice_replayer;
pub(super) mod turns;
pub(crate) mod whole;

pub use pool::Pool;
pub use ring::SlicedRing;
