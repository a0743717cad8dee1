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

mod announcements;
mod broker;
mod channel;
mod counted;
mod error;
mod futex;
mod header;
mod reader;
mod sites;

pub use announcements::{Announced, Announcements, Module};
pub use broker::{Broker, Missing, Unmeasured};
pub use channel::{Channel, Loss};
pub use counted::{Counted, Counters};
pub use dmdprof_abi::protocol;
pub use error::RingError;
pub use header::Ticket;
pub use reader::{ChunkRef, RingReader};
pub use sites::SiteAreas;
