//! Event records: what a library call or a marker did.
//!
//! Takes the words of a chunk that begin with an event, gives an [`Event`] with its operands. Refuses unknown kinds and
//! records that are cut off. Whoever handles events matches all of them, so that a new kind cannot be forgotten.

use crate::abi::{EventKind, Paging, synchronise::Synchronise};

/// What happened. Addresses and lengths are in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Library code read bytes.
    Read {
        /// First byte.
        address: u64,
        /// Bytes.
        len: u64,
    },
    /// Library code wrote bytes.
    Write {
        /// First byte.
        address: u64,
        /// Bytes.
        len: u64,
    },
    /// Library code copied bytes.
    Copy {
        /// First byte written.
        to: u64,
        /// First byte read.
        from: u64,
        /// Bytes.
        len: u64,
    },
    /// A block starts its life.
    Alloc {
        /// First byte.
        address: u64,
        /// Bytes.
        len: u64,
    },
    /// The block that has just started is a mapping of a file; of none if the name is empty.
    Mapped {
        /// First byte.
        address: u64,
        /// Bytes.
        len: u64,
        /// Name of the file.
        file: String,
    },
    /// A block ends its life.
    Free {
        /// First byte.
        address: u64,
        /// Bytes.
        len: u64,
    },
    /// A block of unknown size was freed.
    FreeUnknown,
    /// A block is elsewhere from now on, with its contents.
    Relocate {
        /// First byte of the old block.
        from: u64,
        /// Bytes of the old block.
        from_len: u64,
        /// First byte of the new block.
        to: u64,
        /// Bytes of the new block.
        to_len: u64,
    },
    /// A declared input.
    Input {
        /// First byte.
        address: u64,
        /// Bytes.
        len: u64,
    },
    /// A declared output.
    Output {
        /// First byte.
        address: u64,
        /// Bytes.
        len: u64,
    },
    /// A declared region begins.
    RegionBegin {
        /// Name of the region.
        name: String,
    },
    /// A declared region ends.
    RegionEnd {
        /// Name of the region.
        name: String,
    },
    /// No function of this ring runs any more.
    Restart,
    /// Threads wait for each other.
    Synchronise(Synchronised),
    /// Of a run that is sampled: loads and stores of the thread so far.
    Clock {
        /// How many.
        time: u64,
    },
    /// The site's code was executed so often; 0: it is now, and accesses from here on are of no code that is told.
    Executed {
        /// How often.
        times: u64,
    },
    /// The program asked the system something about its pages.
    Paged {
        /// What.
        what: Paging,
        /// First byte.
        address: u64,
        /// Bytes.
        len: u64,
        /// First byte of the place that has moved here, or 0.
        from: u64,
        /// Its bytes.
        from_len: u64,
    },
}

/// How a thread waits for others, or lets them go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Synchronised {
    /// What it did.
    pub what: Synchronise,
    /// A thread's handle, or an address.
    pub object: u64,
    /// What goes with it.
    pub value: u64,
    /// Another value, or 0.
    pub other: u64,
}

/// An event, and where it is from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventRecord {
    /// Address of the call site's descriptor, 0 if there is none.
    pub site: u64,
    /// Words of the record.
    pub words: usize,
    /// What happened.
    pub event: Event,
}

impl EventRecord {
    /// The event that `rest` begins with.
    #[must_use]
    pub fn from_words(rest: &[u64]) -> Option<Self> {
        let head = *rest.first()?;
        let words = rest.get(..(head >> 48 & 0xff) as usize).filter(|words| !words.is_empty())?;
        let event = Event::from_words(EventKind::from_number((head >> 56) as u8)?, words)?;
        Some(Self { site: head & 0xffff_ffff_ffff, words: words.len(), event })
    }
}

impl Event {
    fn from_words(kind: EventKind, words: &[u64]) -> Option<Self> {
        // Operands start at 1.
        let operand = |index: usize| words.get(index).copied();
        let range = || Some((operand(1)?, operand(2)?));
        Some(match kind {
            EventKind::Read => range().map(|(address, len)| Self::Read { address, len })?,
            EventKind::Write => range().map(|(address, len)| Self::Write { address, len })?,
            EventKind::Copy => Self::Copy { to: operand(1)?, from: operand(2)?, len: operand(3)? },
            EventKind::Alloc => range().map(|(address, len)| Self::Alloc { address, len })?,
            EventKind::Mapped => Self::Mapped { address: operand(1)?, len: operand(2)?, file: name(words, 3)? },
            EventKind::Free => range().map(|(address, len)| Self::Free { address, len })?,
            EventKind::FreeUnknown => Self::FreeUnknown,
            EventKind::Relocate => {
                Self::Relocate { from: operand(1)?, from_len: operand(2)?, to: operand(3)?, to_len: operand(4)? }
            }
            EventKind::Input => range().map(|(address, len)| Self::Input { address, len })?,
            EventKind::Output => range().map(|(address, len)| Self::Output { address, len })?,
            EventKind::RegionBegin => Self::RegionBegin { name: name(words, 1)? },
            EventKind::RegionEnd => Self::RegionEnd { name: name(words, 1)? },
            EventKind::Restart => Self::Restart,
            EventKind::Clock => Self::Clock { time: operand(1)? },
            EventKind::Executed => Self::Executed { times: operand(1)? },
            EventKind::Paged => Self::Paged {
                address: operand(1)?,
                len: operand(2)?,
                what: Paging::from_number(operand(3)?)?,
                from: operand(4)?,
                from_len: operand(5)?,
            },
            EventKind::Synchronise => Self::Synchronise(Synchronised {
                what: Synchronise::from_number(operand(1)?)?,
                object: operand(2)?,
                value: operand(3)?,
                other: operand(4)?,
            }),
        })
    }
}

/// A name in the words from `at` on: its length in bytes, then the bytes.
fn name(words: &[u64], at: usize) -> Option<String> {
    let len = *words.get(at)? as usize;
    let bytes: Vec<u8> = words.get(at + 1..)?.iter().flat_map(|word| word.to_le_bytes()).take(len).collect();
    (bytes.len() == len).then(|| String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(kind: u8, words: u64) -> u64 {
        u64::from(kind) << 56 | words << 48 | 0x1234
    }

    #[test]
    fn operands_and_names_are_read() {
        let copy = [head(EventKind::Copy as u8, 4), 10, 20, 30, 99];
        let event = Event::Copy { to: 10, from: 20, len: 30 };
        assert_eq!(EventRecord::from_words(&copy), Some(EventRecord { site: 0x1234, words: 4, event }));
        let text = u64::from_le_bytes(*b"kernel\0\0");
        let begin = EventRecord::from_words(&[head(EventKind::RegionBegin as u8, 3), 6, text]).expect("whole");
        assert_eq!(begin.event, Event::RegionBegin { name: "kernel".into() });
    }

    #[test]
    fn unknown_kinds_and_records_that_are_cut_off_are_refused() {
        assert_eq!(EventRecord::from_words(&[]), None);
        assert_eq!(EventRecord::from_words(&[head(0xff, 1)]), None);
        assert_eq!(EventRecord::from_words(&[head(EventKind::Read as u8, 3), 1]), None);
        assert_eq!(EventRecord::from_words(&[head(EventKind::Read as u8, 2), 1]), None);
        assert_eq!(EventRecord::from_words(&[head(EventKind::RegionBegin as u8, 3), 9, 0]), None);
        assert_eq!(EventRecord::from_words(&[head(EventKind::Restart as u8, 0)]), None);
    }
}
