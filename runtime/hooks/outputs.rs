//! Saves the bytes of declared outputs as they are when they are declared, if the consumer asks for it.
//!
//! Appends one record to the consumer's file: the length as 8 bytes, low first, then the bytes. The file's lock keeps records of threads
//! and processes apart; the kernel drops it with the descriptor, so that a process that dies in the middle holds up nobody. A
//! record that cannot be written whole is taken back and counted.

use core::sync::atomic::Ordering::Relaxed;

use crate::abi::ChannelHeader;
use crate::sys;

/// Nothing to do unless the consumer named a file.
pub fn save(channel: &ChannelHeader, address: u64, bytes: u64) {
    if channel.outputs.first().is_none_or(|byte| *byte == 0) {
        return;
    }
    // A handler that declares an output would wait for the lock that the code under it holds.
    let mask = sys::block_signals();
    if !append(channel.outputs.as_ptr(), address as usize, bytes as usize) {
        channel.outputs_lost.fetch_add(1, Relaxed);
    }
    sys::restore_signals(mask);
}

fn append(path: *const u8, address: usize, bytes: usize) -> bool {
    let Some(fd) = sys::open(path, sys::APPEND) else { return false };
    let done = sys::lock_file(fd) && {
        let end = sys::file_size(fd);
        let length = (bytes as u64).to_le_bytes();
        let whole = write_all(fd, length.as_ptr() as usize, length.len()) && write_all(fd, address, bytes);
        if !whole {
            sys::cut_file(fd, end);
        }
        whole
    };
    sys::close(fd);
    done
}

fn write_all(fd: usize, mut address: usize, mut bytes: usize) -> bool {
    while bytes > 0 {
        let written = sys::write(fd, address, bytes);
        if written == 0 {
            return false;
        }
        address += written;
        bytes -= written;
    }
    true
}
