//! One line of a text with accesses.
//!
//! ```text
//! R 0x7ffe10 8 0x401136 2      kind, address, bytes, instruction (- or left out: unknown), thread (left out: 0)
//! M 140737 4                   reads, then writes
//! # anything                   a comment, also behind an access
//! I  0401136,3                 Valgrind's lackey (--trace-mem=yes): an instruction, address and bytes
//!  L 1ffefffe10,8              what it loads; S stores, M does both
//! ==123== anything             what Valgrind says beside it
//! ```
//!
//! Numbers are decimal, or hexadecimal after `0x`; lackey's addresses are hexadecimal.

use std::io;

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum What {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Reads, then writes the same bytes.
    Modify,
}

/// An access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The first byte.
    pub address: u64,
    /// How many there are.
    pub bytes: u32,
    /// What it does.
    pub what: What,
    /// Address of the instruction, 0 = unknown; `None` = that of the last line of lackey that names one.
    pub instruction: Option<u64>,
    /// A number of its thread.
    pub thread: u64,
}

impl Access {
    /// Writes a line, which `import` takes.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn write(&self, to: &mut impl io::Write) -> io::Result<()> {
        let kind = match self.what {
            What::Read => 'R',
            What::Write => 'W',
            What::Modify => 'M',
        };
        write!(to, "{kind} {:#x} {} ", self.address, self.bytes)?;
        match self.instruction.unwrap_or(0) {
            0 => write!(to, "-")?,
            instruction => write!(to, "{instruction:#x}")?,
        }
        writeln!(to, " {}", self.thread)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    Nothing,
    Instruction(u64),
    Access(Access),
}

/// Addresses of programs are below.
pub const ADDRESSES: u64 = 1 << 48;
/// Most bytes of an access.
pub const MOST_BYTES: u64 = 4096;

/// Why a line, or what it asks for, cannot be taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// It begins as no line does.
    #[error("expected R, W or M, an address and a size, or a line of Valgrind's lackey; found {0:?}")]
    Kind(String),
    /// A field is not there.
    #[error("the {0} is missing")]
    Missing(&'static str),
    /// A field is no number.
    #[error("the {0} is no number: {1:?} (decimal, or hexadecimal after 0x)")]
    Number(&'static str, String),
    /// An access reaches beyond the addresses of programs.
    #[error("the access of {bytes} bytes at {address:#x} ends above 2^48, where programs have no addresses")]
    Address {
        /// Where it begins.
        address: u64,
        /// Its size.
        bytes: u64,
    },
    /// No access has this size.
    #[error("an access of {0} bytes; from 1 to 4096 can be taken")]
    Bytes(u64),
    /// There is more than a line has.
    #[error("{0:?} is too much: a line has a kind, an address, a size, an instruction and a thread")]
    More(String),
    /// There are too many threads.
    #[error("more than 65,536 threads")]
    Threads,
    /// There are too many instructions.
    #[error("more instructions than can be told apart")]
    Sites,
}

/// Takes a line apart.
pub fn parse(text: &[u8]) -> Result<Line, LineError> {
    let text = text.split(|byte| *byte == b'#').next().unwrap_or_default();
    if text.starts_with(b"==") || text.starts_with(b"--") {
        return Ok(Line::Nothing);
    }
    let mut fields = text.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty());
    let Some(kind) = fields.next() else { return Ok(Line::Nothing) };
    let first = fields.next().ok_or_else(|| match kind {
        b"R" | b"W" | b"M" => LineError::Missing("address"),
        _ => LineError::Kind(shown(text)),
    })?;
    if let Some(comma) = first.iter().position(|byte| *byte == b',') {
        let line = of_lackey(kind, &first[..comma], &first[comma + 1..], text)?;
        return end(&mut fields).map(|()| line);
    }
    let what = match kind {
        b"R" => What::Read,
        b"W" => What::Write,
        b"M" => What::Modify,
        _ => return Err(LineError::Kind(shown(text))),
    };
    let address = number("address", first)?;
    let bytes = number("size", fields.next().ok_or(LineError::Missing("size"))?)?;
    let instruction = match fields.next() {
        None | Some(b"-") => 0,
        Some(field) => number("instruction", field)?,
    };
    let thread = fields.next().map_or(Ok(0), |field| number("thread", field))?;
    end(&mut fields)?;
    access(address, bytes, what, Some(instruction), thread)
}

fn of_lackey(kind: &[u8], address: &[u8], bytes: &[u8], text: &[u8]) -> Result<Line, LineError> {
    let address = digits::<16>(address).ok_or_else(|| LineError::Number("address", shown(address)))?;
    let bytes = digits::<10>(bytes).ok_or_else(|| LineError::Number("size", shown(bytes)))?;
    let what = match kind {
        b"I" => return Ok(Line::Instruction(address)),
        b"L" => What::Read,
        b"S" => What::Write,
        b"M" => What::Modify,
        _ => return Err(LineError::Kind(shown(text))),
    };
    access(address, bytes, what, None, 0)
}

fn access(address: u64, bytes: u64, what: What, instruction: Option<u64>, thread: u64) -> Result<Line, LineError> {
    if !(1..=MOST_BYTES).contains(&bytes) {
        return Err(LineError::Bytes(bytes));
    }
    if address.saturating_add(bytes) > ADDRESSES {
        return Err(LineError::Address { address, bytes });
    }
    Ok(Line::Access(Access { address, bytes: bytes as u32, what, instruction, thread }))
}

fn end<'a>(fields: &mut impl Iterator<Item = &'a [u8]>) -> Result<(), LineError> {
    fields.next().map_or(Ok(()), |field| Err(LineError::More(shown(field))))
}

fn number(what: &'static str, field: &[u8]) -> Result<u64, LineError> {
    let found = match field {
        [b'0', b'x' | b'X', rest @ ..] => digits::<16>(rest),
        _ => digits::<10>(field),
    };
    found.ok_or_else(|| LineError::Number(what, shown(field)))
}

/// A number; `None` if it is none, or too large.
fn digits<const RADIX: u32>(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0u64, |number, byte| {
        let digit = char::from(*byte).to_digit(RADIX)?;
        number.checked_mul(RADIX.into())?.checked_add(digit.into())
    })
}

/// The beginning of something, for a message.
fn shown(text: &[u8]) -> String {
    String::from_utf8_lossy(&text[..text.len().min(60)]).trim().to_owned()
}
