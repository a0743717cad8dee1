//! Samples by a timer in the program, where the kernel refuses events: a library that is loaded before the program's
//! own (`runtime/clock/timer.c`) writes down where it is.
//!
//! Takes the command that is to be started, gives what the library wrote. The program and what it starts have to be
//! linked dynamically. Refuses where no library can be written.
//!
//! ```text
//!   0 | bytes of records so far | room for records |              8 bytes each
//!  16 | kind | process | value            |  text, filled up to a multiple of 16 bytes | next record ...
//! ```
//!
//! `01 00 00 00 | 05 00 00 00 | 08 7f 00 00 00 00 00 00` is a sample of process 5 at 0x7f08. Of kind 2 is what it
//! begins with; kind 3 has in its value the bytes of a line of `/proc/5/maps`, which follow. The test below has each.

use std::{
    ffi::OsString,
    fs::File,
    io,
    os::{fd::AsRawFd, unix::fs::FileExt},
    process::Command,
    time::Duration,
};

use dmdprof_runtime::clock_object::{TIMER, TIMER_VARIABLE};
use rustix::fs::{MemfdFlags, memfd_create};
use tempfile::TempPath;

use super::processes::{Mapping, Processes};
use crate::{launch, toolbox};

/// Bytes for records, of which pages that are not written take no memory: samples of hours.
const ROOM: u64 = 64 << 20;
/// Bytes of the head, and of a record without what follows it.
const HEAD: u64 = 16;

/// Between two looks of most kernels at timers: samples come then.
const TICK: Duration = Duration::from_millis(4);

/// A timer of one run.
pub struct Timer {
    /// In memory: the program writes to it through a mapping, which a full disk would end.
    log: File,
    /// Bytes of records that were read.
    read: u64,
    library: Option<TempPath>,
}

impl Timer {
    /// For a program that is started now, at this part of 1 of the kernel's tick.
    ///
    /// # Errors
    /// When the system gives no memory.
    pub fn new(phase: f64) -> io::Result<Self> {
        std::thread::sleep(TICK.mul_f64(phase));
        let log = File::from(memfd_create("dmdprof-clock", MemfdFlags::CLOEXEC)?);
        log.set_len(HEAD + ROOM)?;
        log.write_all_at(&ROOM.to_le_bytes(), 8)?;
        Ok(Self { log, read: 0, library: None })
    }

    /// Has a command sampled.
    ///
    /// # Errors
    /// When the library cannot be written.
    pub fn prepare(&mut self, command: &mut Command) -> anyhow::Result<()> {
        let library = toolbox::library("dmdprof-clock-", TIMER)?;
        let log: OsString = format!("/proc/{}/fd/{}", std::process::id(), self.log.as_raw_fd()).into();
        command.env("LD_PRELOAD", launch::preload(&library)).env(TIMER_VARIABLE, log);
        self.library = Some(library);
        Ok(())
    }

    /// Tells of what was written.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn take(&mut self, to: &mut Processes, has_ended: bool) -> io::Result<()> {
        let mut used = [0; 8];
        self.log.read_exact_at(&mut used, 0)?;
        let used = u64::from_le_bytes(used);
        let mut bytes = vec![0; (used.min(ROOM) - self.read.min(ROOM)) as usize];
        self.log.read_exact_at(&mut bytes, HEAD + self.read)?;
        self.read += tell(&bytes, to, has_ended);
        if has_ended {
            to.lost += used.saturating_sub(ROOM) / HEAD;
        }
        Ok(())
    }
}

/// Tells of records, and gives their bytes. One that is not finished ends them, as long as the program runs; later it
/// was never finished, and counts as lost.
fn tell(bytes: &[u8], to: &mut Processes, has_ended: bool) -> u64 {
    const SAMPLE: u32 = 1;
    const BEGINS: u32 = 2;
    const MAPPED: u32 = 3;
    let mut at = 0;
    while let Some(head) = bytes.get(at..at + HEAD as usize) {
        let word = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().expect("four bytes"));
        let value = u64::from_le_bytes(head[8..].try_into().expect("eight bytes"));
        let (kind, process) = (word(0), word(4));
        let mut next = at + HEAD as usize;
        match kind {
            SAMPLE => to.samples_at(process, value),
            BEGINS => to.becomes_program(process),
            MAPPED => {
                let length = usize::try_from(value).unwrap_or(usize::MAX);
                let Some(line) = bytes[next..].get(..length) else { break };
                if let Some(mapping) = mapping(line) {
                    to.maps(process, mapping);
                }
                next += length.next_multiple_of(HEAD as usize);
            }
            _ if has_ended => to.lost += 1,
            _ => break,
        }
        at = next;
    }
    at as u64
}

/// Of a line of `/proc/PID/maps`.
fn mapping(line: &[u8]) -> Option<Mapping> {
    use std::os::unix::ffi::OsStrExt;
    let mut fields = line.splitn(6, |byte| *byte == b' ');
    let mut next = || std::str::from_utf8(fields.next()?).ok();
    let (start, end) = next()?.split_once('-')?;
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    let (start, end) = (number(start)?, number(end)?);
    let offset = number(next().and_then(|_| next())?)?;
    let (_device, _inode) = (next()?, next()?);
    let file = fields.next().unwrap_or_default().trim_ascii_start();
    Some(Mapping { start, bytes: end.checked_sub(start)?, offset, file: std::ffi::OsStr::from_bytes(file).into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u32, process: u32, value: u64, text: &[u8]) -> Vec<u8> {
        let head = [&kind.to_le_bytes()[..], &process.to_le_bytes(), &value.to_le_bytes(), text].concat();
        let whole = head.len().next_multiple_of(HEAD as usize);
        [head, vec![0; whole]].concat()[..whole].to_vec()
    }

    #[test]
    fn records_are_samples_in_mapped_files() {
        let line = b"7f00-7f10 r-xp 00001000 fe:01 25        /lib/a name";
        let bytes = [
            record(2, 5, 0, b""),
            record(3, 5, line.len() as u64, line),
            record(1, 5, 0x7f08, b""),
            record(0, 0, 0, b""),
            record(1, 5, 0x9f00, b""),
        ];
        let bytes = bytes.concat();
        let mut processes = Processes::default();
        let first = tell(&bytes, &mut processes, false);
        assert_eq!((processes.samples(), processes.lost), (1, 0), "what follows may still be written");
        assert_eq!(first + tell(&bytes[first as usize..], &mut processes, true), bytes.len() as u64);
        assert_eq!((processes.samples(), processes.lost), (2, 1));
        let found: Vec<_> =
            processes.samples_by_place().iter().map(|(code, samples)| (code.clone(), *samples)).collect();
        assert_eq!(found, [((None, 0), 1), ((Some("/lib/a name".into()), 0x1008), 1)]);
    }
}
