//! Real programs from the archives of Debian and of crates.io, built by their own build systems without and with hooks,
//! and run both ways. Takes `tests/farm/programs.toml`; gives a row per program: whether the output stayed the same,
//! whether the profile repeats, and how it agrees with Cachegrind. Refuses to call a difference good that the list
//! does not explain. Programs that are installed already are run as they are ([`see`]).

mod installed;
mod kept;
mod manifest;
mod outcome;
mod ran;
mod sources;
mod stage;
mod table;

pub use installed::{Installed, Seen, installed, see};
pub use kept::{keep, kept};
pub use manifest::{Manifest, Program};
pub use outcome::{Outcome, examine};
pub use ran::timed;
pub use table::{BEGIN, BEGIN_INSTALLED, document, table, table_of_installed};
