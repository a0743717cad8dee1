//! Modules that go: `dlclose` in place of the C library's, which does the work.
//!
//! Records name descriptors by address. So that records of a module that went are never taken for those of one that
//! came, the addresses of the one stay taken: nothing is ever mapped there again. The bytes of its variables leave the
//! stack.
//!
//! A library that carries the hooks of its process may go, too. The signal handlers that it installed for the program
//! go back to being the program's own.

use core::ffi::c_void;
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::Relaxed;

use crate::abi::{EventKind, PAGE};
use crate::{channel, copies, loaded, module, ring, signal, sys};

/// The C library's, once found.
static REAL: AtomicUsize = AtomicUsize::new(0);

fn real() -> usize {
    let known = REAL.load(Relaxed);
    if known != 0 {
        return known;
    }
    let found = match weak_address!("__interceptor_dlclose") {
        0 => next_definition(),
        sanitizer => sanitizer,
    };
    REAL.store(found, Relaxed);
    found
}

fn next_definition() -> usize {
    const NEXT: usize = usize::MAX;
    let find = weak_address!("dlsym");
    if find == 0 {
        return 0;
    }
    // SAFETY: the C library's `dlsym`.
    let find: extern "C" fn(usize, *const u8) -> usize = unsafe { core::mem::transmute(find) };
    find(NEXT, c"dlclose".as_ptr().cast())
}

pub extern "C" fn dlclose(handle: *mut c_void) -> i32 {
    let real = real();
    if real == 0 {
        // A static program: what it loaded stays.
        return 0;
    }
    // SAFETY: the C library's `dlclose`.
    let real: extern "C" fn(*mut c_void) -> i32 = unsafe { core::mem::transmute(real) };
    real(handle)
}

/// Notices the modules that are gone.
pub extern "C" fn retire() {
    if channel::attached().is_some() {
        module::retire_unmapped(|low, high| {
            let pages = high.next_multiple_of(PAGE as u64) - low;
            sys::reserve(low as usize, pages as usize);
            ring::write([(EventKind::Free as u64) << 56 | 3 << 48, low, high - low]);
        });
    }
}

/// Runs last of all when the module with these hooks goes.
pub extern "C" fn finished() {
    copies::go();
    if loaded::is_library() {
        signal::restore();
    }
}
