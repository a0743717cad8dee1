//! What is counted, and where: per (calling context, site) a cell.
//!
//! Takes depths and lengths, gives histograms and prices. Knows nothing of who finds them.

pub mod caches;
pub mod cell;
pub mod depths;
pub mod keys;
pub mod least;
pub mod lines;
pub mod many;
pub mod reach;
pub mod row;
pub mod sampled;
