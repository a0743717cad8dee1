//! The consumer's side of the shared channel: one memory file, in it one ring per thread of the profiled program.
//!
//! [`Channel`] owns the memory file. The program finds it by an environment variable ([`Channel::env`]), maps it and
//! claims rings. For each claimed ring there is one [`RingReader`], and no more than one: it can be sent to another
//! thread, but not shared.
//!
//! ```text
//! let channel = Channel::create(channel_mode::ANALYSE)?;
//! spawn(program).env(channel.env());
//! loop {
//!     let ticket = channel.ticket();              // before looking, so that nothing is missed
//!     for each i below channel.rings_claimed(): readers.push(channel.ring(i)?)
//!     for each reader: while let Some(chunk) = reader.next_chunk() { use(&chunk) }
//!     for each reader whose thread is gone (asked before the last next_chunk): use(reader.remainder()); reader.release()
//!     channel.wait(ticket, timeout)
//! }
//! ```
//!
//! What the program writes is not trusted: lengths and offsets are checked against the mapping, so that a program that
//! overwrites its own ring yields garbage words and nothing worse.

mod broker;
mod channel;
pub use dmdprof_abi::protocol;
mod reader;

pub use broker::Broker;
pub use channel::{Announced, Channel, Loss, Module, Ticket};
pub use reader::{ChunkRef, RingReader};

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

/// The operating system below [`protocol`].
struct Futex {
    /// Longest sleep of one wait.
    timeout: std::time::Duration,
}

impl protocol::System for Futex {
    type Word = std::sync::atomic::AtomicU32;

    fn fence(&self) {
        std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
    }

    fn wait(&self, word: &Self::Word, expected: u32) -> protocol::Woken {
        use rustix::io::Errno;
        use rustix::thread::futex;
        let timeout = rustix::fs::Timespec {
            tv_sec: i64::try_from(self.timeout.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(self.timeout.subsec_nanos()),
        };
        // Not private: the other side is another process.
        match futex::wait(word, futex::Flags::empty(), expected, Some(&timeout)) {
            Err(Errno::TIMEDOUT) => protocol::Woken::TimedOut,
            _ => protocol::Woken::Again,
        }
    }

    fn wake(&self, word: &Self::Word) {
        use rustix::thread::futex;
        // Fails only for words outside memory.
        let _ = futex::wake(word, futex::Flags::empty(), i32::MAX.unsigned_abs());
    }
}
