//! `dmdprof why`: for the reads that cost most, who touched the bytes last, what lay between, and what would help.
//!
//! Takes a profile with flows and objects. A *pair* is (line that touched the bytes last, line that reads them, data
//! object), a line on which several loops begin being one for each of them (`apart`); its cost is that of the reads.
//! `cures` says for each pair what the counts support, the most promising first. Of a profile with cycles `bounds` says
//! what each line waits for.

mod apart;
mod beside;
mod bounds;
mod clock;
mod counted;
mod cure;
mod cures;
mod deeds;
mod fields;
mod idle;
mod layout;
mod lines;
mod loops;
mod order;
mod pairs;
mod places;
mod report;
mod returns;
mod sentences;
mod spent;
#[cfg(test)]
mod tests;
mod tries;
mod words;

pub use places::{Options, variables};
pub use report::document;
pub use tries::tries;
