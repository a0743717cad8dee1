//! Why the shared channel cannot be made or read.

use std::io;

use thiserror::Error;

/// Why the channel cannot be made or used.
#[derive(Debug, Error)]
pub enum RingError {
    /// The memory file cannot be made.
    #[error("cannot create the shared memory file: {0}")]
    Create(#[source] io::Error),
    /// The memory file cannot be as long as it has to be.
    #[error(
        "cannot make the shared memory file {bytes} bytes long (it is sparse and takes no memory; is `ulimit -f` set?): {source}"
    )]
    Grow {
        /// How long it has to be.
        bytes: u64,
        /// What the system says.
        source: io::Error,
    },
    /// A part of the memory file cannot be mapped.
    #[error("cannot map {what} of the shared memory file: {source}")]
    Map {
        /// Which part.
        what: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// Somebody reads the ring of that number already.
    #[error("ring {0} already has its reader")]
    Taken(u32),
    /// Counters cannot be read.
    #[error("cannot read the counters of ring {index}: {source}")]
    Counters {
        /// Number of the ring.
        index: u32,
        /// What the system says.
        source: io::Error,
    },
    /// Memory that was read cannot be given back.
    #[error("cannot give back the memory of ring {index}: {source}")]
    Release {
        /// Number of the ring.
        index: u32,
        /// What the system says.
        source: io::Error,
    },
}
