//! What comes to the hooks: done by the copy of them that does the work in this process ([`copies`]), else here.

use core::ffi::c_void;

use crate::abi::{ChannelHeader, RingHeader};
use crate::arch::Action;
use crate::copies::{self, Copy};
use crate::{attach, calls, channel, module, process, random, ring, sampled, sandbox, signal, sys, thread, unload};

/// What this copy does for others.
static OWN: Copy = Copy {
    current: thread::of_copy,
    reserve: ring::reserve,
    ready: sampled::ready,
    tick: sampled::tick,
    register: module::register,
    call: calls::call,
    unit: sampled::unit,
    sigaction: signal::sigaction,
    signal: signal::signal,
    landed: signal::landed,
    fixed: random::fixed,
    retire: unload::retire,
    system_call: sandbox::system_call,
    shares_thread: ring::shares_thread,
    forked: process::after_unseen_fork,
    join: copies::join,
    leave: thread::leave,
};

/// The channel, attached if it was not yet; `None` = inert, or another copy has it.
pub fn channel() -> Option<&'static ChannelHeader> {
    if channel::is_untried() {
        copies::introduce(&OWN);
    }
    attach::get()
}

/// The copy that does the work of this one, if that is another.
#[inline(always)]
fn elder() -> Option<&'static Copy> {
    if channel::is_untried() {
        channel();
    }
    copies::joined()
}

pub extern "C" fn reserve(bytes: usize, from: usize) -> u64 {
    let Some(elder) = elder() else { return ring::reserve(bytes, from) };
    let cursor = (elder.reserve)(bytes, from);
    thread::set_own((elder.current)());
    cursor
}

pub extern "C" fn ready(accesses: u64) -> *mut RingHeader {
    let Some(elder) = elder() else { return sampled::ready(accesses) };
    let ring = (elder.ready)(accesses);
    thread::set_own((elder.current)());
    ring
}

macro_rules! handed_on {
    ($($name:ident($($argument:ident: $kind:ty),*) $(-> $result:ty)?;)*) => {$(
        /// # Safety
        /// As what this copy would do itself.
        pub unsafe extern "C" fn $name($($argument: $kind),*) $(-> $result)? {
            // SAFETY: as demanded from the caller.
            unsafe { (elder().unwrap_or(&OWN).$name)($($argument),*) }
        }
    )*};
}

handed_on! {
    tick();
    register(address: usize);
    call(site: usize, call: u64, a: u64, b: u64, c: u64, d: u64);
    unit(unit: u64, count: u64, first: *mut u64);
    sigaction(number: i32, new: *const Action, old: *mut Action) -> i32;
    signal(number: i32, handler: usize) -> usize;
    landed(stack: usize);
    fixed(buffer: *mut u8, bytes: usize) -> bool;
    retire();
    system_call(number: usize, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> isize;
    shares_thread();
}

pub extern "C" fn getrandom(buffer: *mut u8, bytes: usize, flags: u32) -> isize {
    // SAFETY: the program's own buffer.
    if unsafe { fixed(buffer, bytes) } { bytes as isize } else { random::getrandom(buffer, bytes, flags) }
}

pub extern "C" fn getentropy(buffer: *mut u8, bytes: usize) -> i32 {
    // SAFETY: the program's own buffer.
    random::getentropy(buffer, bytes, |buffer, bytes| unsafe { fixed(buffer, bytes) })
}

pub extern "C" fn prctl(option: i32, a: usize, b: usize, c: usize, d: usize) -> i32 {
    sandbox::others_prctl(option, [a, b, c, d]).unwrap_or_else(|| {
        // SAFETY: the program's own call.
        unsafe { system_call(sys::PRCTL, option as usize, a, b, c, d, 0) as i32 }
    })
}

pub extern "C" fn dlclose(handle: *mut c_void) -> i32 {
    let result = unload::dlclose(handle);
    // SAFETY: takes nothing.
    unsafe { retire() };
    result
}
