//! Why the shared channel cannot be made or read.

use std::io;

use thiserror::Error;

#[derive(Debug, Error)]
pub enum RingError {
    #[error("cannot create the shared memory file: {0}")]
    Create(#[source] io::Error),
    #[error(
        "cannot make the shared memory file {bytes} bytes long (it is sparse and takes no memory; is `ulimit -f` set?): {source}"
    )]
    Grow { bytes: u64, source: io::Error },
    #[error("cannot map {what} of the shared memory file: {source}")]
    Map { what: &'static str, source: io::Error },
    #[error("ring {0} already has its reader")]
    Taken(u32),
    #[error("cannot give back the memory of ring {index}: {source}")]
    Release { index: u32, source: io::Error },
}
