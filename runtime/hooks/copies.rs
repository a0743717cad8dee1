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

use core::arch::asm;
use core::ffi::c_void;
use core::ptr::null_mut;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicIsize, AtomicPtr, AtomicU64, AtomicUsize};

use crate::abi::{PAGE, RingHeader};
use crate::signal::Action;
use crate::{calls, channel, module, process, random, ring, sample, sandbox, shares_thread, signal, sys, unload};

/// What copies do for each other; [`LAYOUT`] names it.
#[repr(C)]
pub struct Copy {
    current: extern "C" fn() -> *mut RingHeader,
    reserve: extern "C" fn(usize, usize) -> u64,
    ready: extern "C" fn(u64) -> *mut RingHeader,
    tick: extern "C" fn(),
    register: extern "C" fn(usize),
    call: extern "C" fn(usize, u64, u64, u64, u64, u64),
    unit: unsafe extern "C" fn(u64, u64, *mut u64),
    sigaction: unsafe extern "C" fn(i32, *const Action, *mut Action) -> i32,
    signal: unsafe extern "C" fn(i32, usize) -> usize,
    landed: extern "C" fn(usize),
    fixed: extern "C" fn(*mut u8, usize) -> bool,
    retire: extern "C" fn(),
    system_call: unsafe extern "C" fn(usize, usize, usize, usize, usize, usize, usize) -> isize,
    shares_thread: extern "C" fn(),
    forked: extern "C" fn(),
    join: extern "C" fn(isize) -> bool,
    leave: extern "C" fn(isize),
}

/// `b"DMDCOPY"` and a number that changes with the table.
const LAYOUT: u64 = u64::from_le_bytes(*b"DMDCOPY\x01");

static OWN: Copy = Copy {
    current: current_ring,
    reserve: ring::reserve,
    ready: sample::ready,
    tick: sample::tick,
    register: module::register,
    call: calls::call,
    unit: sample::unit,
    sigaction: signal::sigaction,
    signal: signal::signal,
    landed: signal::landed,
    fixed: random::fixed,
    retire: unload::retire,
    system_call: sandbox::system_call,
    shares_thread,
    forked: process::after_unseen_fork,
    join,
    leave,
};

extern "C" fn current_ring() -> *mut RingHeader {
    ring::current()
}

/// Where the elder's table is told: what allocators, sanitizers and the system's own mappings keep away from.
const PLACE: usize = 0x7c44_4d44_5000;

/// What lies there.
#[repr(C)]
struct Told {
    /// [`LAYOUT`], once the rest is there.
    mark: AtomicU64,
    elder: AtomicPtr<Copy>,
}

/// The copy that this one has joined.
static ELDER: AtomicPtr<Copy> = AtomicPtr::new(null_mut());

/// The copy that does the work of this one, if that is another.
#[inline(always)]
pub fn elder() -> Option<&'static Copy> {
    if channel::is_untried() {
        channel::get();
    }
    // SAFETY: null, or a table in a module that stays loaded.
    unsafe { ELDER.load(Acquire).as_ref() }
}

/// Joins the elder of this process; false = there is none, or it takes nobody.
pub fn join_elder() -> bool {
    let Some(elder) = told().map(|told| told.elder.load(Acquire)) else { return false };
    // SAFETY: null, or the table of a copy in this process: only these write the mark, and those that go take it away.
    let Some(copy) = (unsafe { elder.as_ref() }) else { return false };
    if core::ptr::eq(copy, &OWN) || !(copy.join)(offset()) {
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
        let _ = told.elder.compare_exchange(null_mut(), (&raw const OWN).cast_mut(), AcqRel, Relaxed);
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

/// Copies that may join.
const MOST: usize = 64;
/// Where their pointers to the thread's ring are, from the thread's own address; 0 = none.
static POINTERS: [AtomicIsize; MOST] = [const { AtomicIsize::new(0) }; MOST];
/// Those behind it were never used.
static POINTERS_END: AtomicUsize = AtomicUsize::new(0);

extern "C" fn join(offset: isize) -> bool {
    let free = |slot: &&AtomicIsize| slot.compare_exchange(0, offset, AcqRel, Relaxed).is_ok();
    if !unload::stay_loaded() {
        return false;
    }
    let Some(index) = POINTERS.iter().position(|slot| free(&slot)) else { return false };
    POINTERS_END.fetch_max(index + 1, AcqRel);
    true
}

extern "C" fn leave(offset: isize) {
    for slot in &POINTERS {
        let _ = slot.compare_exchange(offset, 0, AcqRel, Relaxed);
    }
}

/// The thread's ring is another one now, for all copies.
#[inline(always)]
pub fn mirror(ring: *mut RingHeader) {
    for slot in POINTERS.iter().take(POINTERS_END.load(Relaxed)) {
        let offset = slot.load(Relaxed);
        if offset != 0 {
            // SAFETY: a pointer of a copy that has joined, which every thread has.
            unsafe {
                asm!("mov qword ptr fs:[{0}], {1}", in(reg) offset, in(reg) ring, options(nostack, preserves_flags))
            };
        }
    }
}

/// Where this copy's pointer to the thread's ring is.
fn offset() -> isize {
    let offset;
    // SAFETY: reads the global offset table.
    unsafe {
        asm!("mov {0}, qword ptr [rip + __dmdprof_v5_ring__link_with_dmdprof_cc@GOTTPOFF]", out(reg) offset, options(nostack, pure, readonly));
    }
    offset
}

/// The module with this copy goes.
pub fn go() {
    // SAFETY: null, or a table in a module that stays loaded.
    if let Some(elder) = unsafe { ELDER.load(Acquire).as_ref() } {
        (elder.leave)(offset());
    } else if let Some(told) = told() {
        // Nobody has joined it, or it would stay; at the end of the process it does no harm.
        let _ = told.elder.compare_exchange((&raw const OWN).cast_mut(), null_mut(), AcqRel, Relaxed);
    }
}

extern "C" fn hand_on_fork() {
    if let Some(elder) = elder() {
        (elder.forked)();
    }
}

/// Runs when a copy is preloaded into a program without hooks, which may never come to it: a library with a C library
/// of its own (`dlmopen`) may carry the elder, and does not hear of forks by the program's.
pub extern "C" fn preloaded() {
    process::at_fork(tell_fork);
}

extern "C" fn tell_fork() {
    // SAFETY: as in `join_elder`.
    let elder = told().and_then(|told| unsafe { told.elder.load(Acquire).as_ref() });
    if let Some(elder) = elder.filter(|elder| !core::ptr::eq(*elder, &OWN)) {
        (elder.forked)();
    }
}

// What comes to the hooks: done by the elder, else here.

pub extern "C" fn reserve(bytes: usize, from: usize) -> u64 {
    let Some(elder) = elder() else { return ring::reserve(bytes, from) };
    let cursor = (elder.reserve)(bytes, from);
    ring::set_own((elder.current)());
    cursor
}

pub extern "C" fn ready(accesses: u64) -> *mut RingHeader {
    let Some(elder) = elder() else { return sample::ready(accesses) };
    let ring = (elder.ready)(accesses);
    ring::set_own((elder.current)());
    ring
}

pub extern "C" fn tick() {
    elder().map_or(sample::tick as extern "C" fn(), |elder| elder.tick)();
}

pub extern "C" fn register(address: usize) {
    elder().map_or(module::register as extern "C" fn(usize), |elder| elder.register)(address);
}

pub extern "C" fn call(site: usize, call: u64, a: u64, b: u64, c: u64, d: u64) {
    match elder() {
        Some(elder) => (elder.call)(site, call, a, b, c, d),
        None => calls::call(site, call, a, b, c, d),
    }
}

/// # Safety
/// As [`sample::unit`].
pub unsafe extern "C" fn unit(unit: u64, count: u64, first: *mut u64) {
    let there = elder().map_or(sample::unit as unsafe extern "C" fn(u64, u64, *mut u64), |elder| elder.unit);
    // SAFETY: as demanded from the caller.
    unsafe { there(unit, count, first) };
}

/// # Safety
/// As [`signal::sigaction`].
pub unsafe extern "C" fn sigaction(number: i32, new: *const Action, old: *mut Action) -> i32 {
    match elder() {
        // SAFETY: as demanded from the caller.
        Some(elder) => unsafe { (elder.sigaction)(number, new, old) },
        // SAFETY: as demanded from the caller.
        None => unsafe { signal::sigaction(number, new, old) },
    }
}

/// # Safety
/// As [`signal::signal`].
pub unsafe extern "C" fn signal(number: i32, handler: usize) -> usize {
    match elder() {
        // SAFETY: as demanded from the caller.
        Some(elder) => unsafe { (elder.signal)(number, handler) },
        // SAFETY: as demanded from the caller.
        None => unsafe { signal::signal(number, handler) },
    }
}

pub extern "C" fn landed(stack: usize) {
    elder().map_or(signal::landed as extern "C" fn(usize), |elder| elder.landed)(stack);
}

/// [`random::fixed`] of the copy that counts.
pub fn fixed(buffer: *mut u8, bytes: usize) -> bool {
    elder().map_or(random::fixed as extern "C" fn(*mut u8, usize) -> bool, |elder| elder.fixed)(buffer, bytes)
}

pub extern "C" fn dlclose(handle: *mut c_void) -> i32 {
    let result = unload::dlclose(handle);
    elder().map_or(unload::retire as extern "C" fn(), |elder| elder.retire)();
    result
}

/// # Safety
/// As [`sandbox::system_call`].
pub unsafe extern "C" fn system_call(n: usize, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> isize {
    match elder() {
        // SAFETY: as demanded from the caller.
        Some(elder) => unsafe { (elder.system_call)(n, a, b, c, d, e, f) },
        // SAFETY: as demanded from the caller.
        None => unsafe { sandbox::system_call(n, a, b, c, d, e, f) },
    }
}

pub extern "C" fn stop_shared() {
    elder().map_or(shares_thread as extern "C" fn(), |elder| elder.shares_thread)();
}
