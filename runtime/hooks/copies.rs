//! Several copies of these hooks in one process: a library that is opened with `RTLD_DEEPBIND`, by `dlmopen`, or beside
//! others by a program without hooks, binds to the copy that it carries.
//!
//! The first copy that attaches is the elder and does all the work. It leaves its table of functions at an address that
//! is the same in every process; a copy that finds one there joins it, and from then on hands on whatever comes to it.
//! Fast paths need no more than the thread's pointer to its ring, of which each copy has its own: the elder learns
//! where those are, and changes all of them at once. So a process has one set of rings, of known blocks and of
//! handlers, whatever binds to what.
//!
//! An elder that is a library stays loaded once somebody has joined it. A copy of another version, one too many, or one
//! that comes to a process where something else lies at the address, stands by itself as a process of its own.

use core::ptr::null_mut;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicU64};

use crate::abi::{PAGE, RingHeader};
use crate::arch::{self, Action};
use crate::{loaded, process, sys, thread};

/// What copies do for each other; [`LAYOUT`] names it.
#[repr(C)]
pub struct Copy {
    pub current: extern "C" fn() -> *mut RingHeader,
    pub reserve: extern "C" fn(usize, usize) -> u64,
    pub ready: extern "C" fn(u64) -> *mut RingHeader,
    pub tick: unsafe extern "C" fn(),
    pub register: unsafe extern "C" fn(usize),
    pub call: unsafe extern "C" fn(usize, u64, u64, u64, u64, u64),
    pub unit: unsafe extern "C" fn(u64, u64, *mut u64),
    pub sigaction: unsafe extern "C" fn(i32, *const Action, *mut Action) -> i32,
    pub signal: unsafe extern "C" fn(i32, usize) -> usize,
    pub landed: unsafe extern "C" fn(usize),
    pub fixed: unsafe extern "C" fn(*mut u8, usize) -> bool,
    pub retire: unsafe extern "C" fn(),
    pub system_call: unsafe extern "C" fn(usize, usize, usize, usize, usize, usize, usize) -> isize,
    pub shares_thread: unsafe extern "C" fn(),
    pub forked: extern "C" fn(),
    pub join: extern "C" fn(isize) -> bool,
    pub leave: extern "C" fn(isize),
}

/// `b"DMDCOPY"` and a number that changes with the table.
const LAYOUT: u64 = u64::from_le_bytes(*b"DMDCOPY\x01");

/// Where the elder's table is told: what allocators, sanitizers and the system's own mappings keep away from.
const PLACE: usize = 0x7c44_4d44_5000;

/// What lies there:
///
/// ```text
///   0x7c444d445000 | 44 4d 44 43 4f 50 59 01 | address of the elder's table, 8 bytes |
/// ```
#[repr(C)]
struct Told {
    /// [`LAYOUT`], once the rest is there.
    mark: AtomicU64,
    elder: AtomicPtr<Copy>,
}

/// The table of this copy, once it was introduced.
static OWN: AtomicPtr<Copy> = AtomicPtr::new(null_mut());
/// The copy that this one has joined.
static ELDER: AtomicPtr<Copy> = AtomicPtr::new(null_mut());

/// Says which table is this copy's; before it looks for its channel.
pub fn introduce(own: &'static Copy) {
    OWN.store((own as *const Copy).cast_mut(), Release);
}

/// The copy that this one has joined.
#[inline(always)]
pub fn joined() -> Option<&'static Copy> {
    // SAFETY: null, or a table in a module that stays loaded.
    unsafe { ELDER.load(Acquire).as_ref() }
}

/// Has a copy join this one; false = it cannot.
pub extern "C" fn join(offset: isize) -> bool {
    loaded::stay_loaded() && thread::join(offset)
}

/// Joins the elder of this process; false = there is none, or it takes nobody.
pub fn join_elder() -> bool {
    let Some(elder) = told().map(|told| told.elder.load(Acquire)) else { return false };
    // SAFETY: null, or the table of a copy in this process: only these write the mark, and those that go take it away.
    let Some(copy) = (unsafe { elder.as_ref() }) else { return false };
    if elder == OWN.load(Acquire) || !(copy.join)(arch::ring_offset()) {
        return false;
    }
    ELDER.store(elder, Release);
    process::at_fork(hand_on_fork);
    true
}

/// This copy is the elder from now on, unless there is one.
pub fn become_elder() {
    // `MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE`.
    const HERE_IF_FREE: usize = 0x02 | 0x20 | 0x10_0000;
    // SAFETY: a new mapping where none is.
    let mapped = unsafe { sys::call(sys::MMAP, PLACE, PAGE, sys::PROT_READ_WRITE, HERE_IF_FREE, usize::MAX, 0) };
    let told = match mapped {
        // SAFETY: mapped just now, and never given up.
        _ if mapped == PLACE as isize => Some(unsafe { &*(PLACE as *const Told) }),
        1.. => {
            // An old kernel takes the address for a wish.
            // SAFETY: mapped just now, and given to nobody.
            unsafe { sys::unmap(mapped as usize, PAGE) };
            None
        }
        // The place of one that has gone.
        _ => told(),
    };
    if let Some(told) = told {
        let _ = told.elder.compare_exchange(null_mut(), OWN.load(Acquire), AcqRel, Relaxed);
        told.mark.store(LAYOUT, Release);
    }
}

/// What is told in this process.
fn told() -> Option<&'static Told> {
    const NO_SUCH_WAY: usize = usize::MAX;
    const EINVAL: isize = -22;
    // The kernel reads the mask before it finds out that there is no such way to use it.
    // SAFETY: the kernel checks the pointer, and changes nothing.
    let read = unsafe { sys::call(sys::RT_SIGPROCMASK, NO_SUCH_WAY, PLACE, 0, 8, 0, 0) };
    if read != EINVAL {
        return None;
    }
    // SAFETY: the page can be read; ours is never given up.
    let told = unsafe { &*(PLACE as *const Told) };
    (told.mark.load(Acquire) == LAYOUT).then_some(told)
}

/// The module with this copy goes.
pub fn go() {
    if let Some(elder) = joined() {
        (elder.leave)(arch::ring_offset());
    } else if let Some(told) = told() {
        // Nobody has joined it, or it would stay; at the end of the process it does no harm.
        let _ = told.elder.compare_exchange(OWN.load(Acquire), null_mut(), AcqRel, Relaxed);
    }
}

extern "C" fn hand_on_fork() {
    if let Some(elder) = joined() {
        (elder.forked)();
    }
}

/// Runs when a copy is preloaded into a program without hooks, which may never come to it: a library with a C library
/// of its own (`dlmopen`) may carry the elder, and does not hear of forks by the program's.
pub extern "C" fn preloaded() {
    process::at_fork(tell_fork);
}

extern "C" fn tell_fork() {
    let elder = told().map(|told| told.elder.load(Acquire)).filter(|elder| *elder != OWN.load(Acquire));
    // SAFETY: as in `join_elder`.
    if let Some(elder) = elder.and_then(|elder| unsafe { elder.as_ref() }) {
        (elder.forked)();
    }
}
