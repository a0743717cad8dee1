//! Saves the bytes of declared outputs as they are when they are declared, if the consumer asks for it.
//!
//! Writes one record to the consumer's file: the length as 8 bytes, low first, then the bytes. Of the outputs `abc` and
//! `d` the file is `03 00 00 00 00 00 00 00 | 61 62 63 | 01 00 00 00 00 00 00 00 | 64`. The file's lock keeps
//! records of threads and processes apart. A record counts when the shared end is moved behind it: the next one
//! overwrites what a process that died or met an error has left. Outputs that cannot be written whole are counted.
//!
//! The lock belongs to an opening of the file, which a fork shares with the child: it is given back by name, because
//! the child may keep the descriptor open. If the parent dies between the fork and that, the child keeps the lock;
//! therefore nobody waits for ever.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::abi::ChannelHeader;
use crate::sys;

/// Nothing to do unless the consumer named a file.
pub fn save(channel: &ChannelHeader, address: u64, bytes: u64) {
    if channel.outputs.first().is_none_or(|byte| *byte == 0) {
        return;
    }
    // A handler that declares an output would wait for the lock that the code under it holds.
    let mask = sys::block_signals();
    if !append(channel, address as usize, bytes as usize) {
        channel.outputs_lost.fetch_add(1, Relaxed);
    }
    sys::restore_signals(mask);
}

fn append(channel: &ChannelHeader, address: usize, bytes: usize) -> bool {
    let Some(fd) = sys::open(channel.outputs.as_ptr(), sys::WRONLY) else { return false };
    let done = sys::lock_file(fd) && {
        let start = channel.outputs_end.load(Acquire) as usize;
        let length = (bytes as u64).to_le_bytes();
        let data = start + length.len();
        let whole = write_all(fd, length.as_ptr() as usize, length.len(), start) && write_all(fd, address, bytes, data);
        if whole {
            channel.outputs_end.store((data + bytes) as u64, Release);
        }
        sys::unlock_file(fd);
        whole
    };
    sys::close(fd);
    done
}

fn write_all(fd: usize, mut address: usize, mut bytes: usize, mut at: usize) -> bool {
    while bytes > 0 {
        let written = sys::write_at(fd, address, bytes, at);
        if written == 0 {
            return false;
        }
        address += written;
        at += written;
        bytes -= written;
    }
    true
}
