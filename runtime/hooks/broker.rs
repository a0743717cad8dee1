//! Asks the run that this process belongs to for the channel, where the environment does not lead to it: it was
//! cleared, the process belongs to another user (who may not open the path), or it has another root.
//!
//! `dmdprof` listens on a socket without a place in the file system, named after its process number, and on one with a
//! place, as network namespaces have the former each for themselves. The process that
//! the environment names is tried, then every ancestor of this process, as far as `/proc` tells. The kernel says who
//! listens: the answer of any other process than the ancestor itself is not taken, but for one of the own user that has
//! no number here, because it is in an outer process namespace. `dmdprof` in turn gives the channel to its own
//! descendants only.

use crate::abi::{BROKER_ASK, BROKER_DIRECTORY, BROKER_NAME, BROKER_REPORT, BROKER_STARTED};
use crate::sys::{self, Text};

/// Generations looked at.
const FARTHEST: usize = 64;

/// A descriptor of the channel, from the process that the environment names (0 = none), or from an ancestor.
pub fn open_channel(named: u32) -> Option<usize> {
    with_run(named, |socket| {
        send(socket, BROKER_ASK);
        receive(socket)
    })?
}

/// Tells the run that this process will not be measured, and waits until that is written down: only of a process that
/// is there can the run tell that it is one of its own.
pub fn report() {
    with_run(0, |socket| {
        send(socket, BROKER_REPORT);
        receive(socket)
    });
}

/// Tells the run that a program that this process starts will not be measured, and why; whether the run has heard it.
#[cfg(feature = "emulator")]
pub fn report_started(why: u8, name: &[u8]) -> bool {
    let mut message = [0u8; 3 + 255];
    let length = name.len().min(255);
    message[..3].copy_from_slice(&[BROKER_STARTED, why, length as u8]);
    message[3..3 + length].copy_from_slice(&name[..length]);
    with_run(0, |socket| {
        send_all(socket, &message[..3 + length]);
        answer(socket).0
    }) == Some(true)
}

/// The process in a path as `/proc/<process>/fd/3`, with any number of slashes; 0 = none.
pub fn process_in(path: &[u8]) -> u32 {
    number(path.strip_prefix(b"/proc/").unwrap_or_default())
}

/// The descriptor's number in such a path.
pub fn descriptor_in(path: &[u8]) -> usize {
    let is_last = |at: &usize| path.get(*at..).is_some_and(|rest| rest.starts_with(b"/fd/"));
    let start = (0..path.len()).find(is_last).map_or(path.len(), |at| at + 4);
    number(path.get(start..).unwrap_or_default()) as usize
}

/// The number behind slashes.
fn number(text: &[u8]) -> u32 {
    let digits = text.iter().skip_while(|byte| **byte == b'/').take_while(|byte| byte.is_ascii_digit());
    digits.fold(0u32, |number, digit| number.wrapping_mul(10).wrapping_add(u32::from(digit - b'0')))
}

/// Runs a function on a connection to the process that is named, or to the nearest ancestor that listens.
fn with_run<T>(named: u32, talk: impl FnOnce(usize) -> T) -> Option<T> {
    const UNIX: usize = 1;
    const STREAM_CLOEXEC: usize = 1 | 0o2000000;
    // SAFETY: no memory is involved.
    let socket = unsafe { sys::call(sys::SOCKET, UNIX, STREAM_CLOEXEC, 0, 0, 0, 0) };
    let socket = usize::try_from(socket).ok()?;
    let found = (named != 0 && connect(socket, named) && is_listener(socket, named)) || find(socket);
    let answer = if found { Some(talk(socket)) } else { None };
    sys::close(socket);
    answer
}

fn find(socket: usize) -> bool {
    // SAFETY: no memory is involved.
    let mut ancestor = unsafe { sys::call(sys::GETPPID, 0, 0, 0, 0, 0, 0) } as u32;
    for _ in 0..FARTHEST {
        if ancestor <= 1 {
            return false;
        }
        if connect(socket, ancestor) {
            return is_listener(socket, ancestor);
        }
        let Some((_, parent)) = sys::status(ancestor) else { return false };
        ancestor = parent;
    }
    false
}

/// Connects to the process, by the name without a place or, from another network namespace, by the one with a place.
fn connect(socket: usize, process: u32) -> bool {
    connect_to(socket, b"\0", process) || connect_to(socket, BROKER_DIRECTORY.as_bytes(), process)
}

fn connect_to(socket: usize, place: &[u8], process: u32) -> bool {
    // `struct sockaddr_un`: the family, then a path, or a name that begins with a zero byte.
    let mut address = [0u8; 64];
    let mut text = Text { to: &mut address, len: 0 };
    text.put(&[1, 0]);
    text.put(place);
    text.put(BROKER_NAME.as_bytes());
    text.number(process);
    let length = text.len;
    // SAFETY: the kernel reads the address, whose length is told.
    unsafe { sys::call(sys::CONNECT, socket, address.as_ptr() as usize, length, 0, 0, 0) == 0 }
}

/// The process at the other end is that of this number, or out of sight and of the own user.
fn is_listener(socket: usize, process: u32) -> bool {
    const SOCKET_LEVEL: usize = 1;
    const PEER_CREDENTIALS: usize = 17;
    let mut credentials = [u32::MAX; 3];
    let mut length = size_of_val(&credentials) as u32;
    // SAFETY: room for `struct ucred`, and its length.
    unsafe {
        let to = credentials.as_mut_ptr() as usize;
        let length = &raw mut length as usize;
        sys::call(sys::GETSOCKOPT, socket, SOCKET_LEVEL, PEER_CREDENTIALS, to, length, 0);
    }
    let [number, user, _] = credentials;
    number == process || (number == 0 && user == sys::user())
}

fn send(socket: usize, byte: u8) {
    send_all(socket, &[byte]);
}

fn send_all(socket: usize, bytes: &[u8]) {
    const NOSIGNAL: usize = 0x4000;
    // SAFETY: the kernel reads the bytes, whose number is told.
    unsafe { sys::call(sys::SENDTO, socket, bytes.as_ptr() as usize, bytes.len(), NOSIGNAL, 0, 0) };
}

/// The descriptor that comes with the answer.
fn receive(socket: usize) -> Option<usize> {
    const RIGHTS: u64 = 1 | 1 << 32;
    let (is_answered, [length, kind, descriptor]) = answer(socket);
    (is_answered && length == 20 && kind == RIGHTS).then_some(descriptor as u32 as usize)
}

/// Waits for the answer: whether there was one, and its `struct cmsghdr` with what comes behind.
fn answer(socket: usize) -> (bool, [u64; 3]) {
    const SOCKET_LEVEL: usize = 1;
    const RECEIVE_TIMEOUT: usize = 20;
    const CLOEXEC: usize = 0x4000_0000;
    let timeout = [10i64, 0];
    let mut byte = 0u8;
    let part = [&raw mut byte as usize, 1];
    let mut control = [0u64; 3];
    let mut message = [0, 0, part.as_ptr() as usize, 1, control.as_mut_ptr() as usize, size_of_val(&control), 0];
    // SAFETY: the kernel reads the time and writes into the byte, the control buffer and the message.
    let received = unsafe {
        let time = timeout.as_ptr() as usize;
        sys::call(sys::SETSOCKOPT, socket, SOCKET_LEVEL, RECEIVE_TIMEOUT, time, size_of_val(&timeout), 0);
        sys::call(sys::RECVMSG, socket, message.as_mut_ptr() as usize, CLOEXEC, 0, 0, 0)
    };
    // SAFETY: written by the kernel, or zero.
    (received == 1, unsafe { (&raw const control).read_volatile() })
}
