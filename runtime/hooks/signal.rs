//! Signal handlers: each runs on a ring of its own, so that the record it interrupts stays whole.
//!
//! The program's calls to `sigaction` and `signal` come here. They install [`trampoline`], which changes the thread's
//! ring for the time of the program's handler. A handler that interrupts a handler gets the next ring of the chain
//! (`Private::handler`), so that there is one per level of nesting and thread.
//!
//! A handler may be left by `longjmp`; then nobody changes the ring back. [`landed`] (where `setjmp` returns) and the
//! next handler's start look at the stack pointer of the code that runs now: a handler on the ordinary stack is gone if
//! that is above the handler's frame; one on an alternate stack (as it was set when the handler started) is gone if
//! that is outside the alternate stack, or on it but above the frame.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU64, AtomicUsize};

use crate::abi::{ChannelHeader, EventKind, RingHeader, ring_kind, ring_state};
use crate::arch::{self, Action, Context, KernelAction, SA_RESTORER};
use crate::{attach, channel, process, ring, sys, thread};

const SIGNALS: usize = 65;
/// The program's handler per signal, while the kernel has the trampoline.
static HANDLERS: [AtomicUsize; SIGNALS] = [const { AtomicUsize::new(0) }; SIGNALS];
/// One bit per signal whose handler takes the context (`SA_SIGINFO`), so that whoever calls it passes one.
static WITH_CONTEXT: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

const SA_SIGINFO: i32 = 4;
const SIG_DFL: usize = 0;
const SIG_IGN: usize = 1;
const SIG_ERR: usize = usize::MAX;
/// `SIG_HOLD` of the older interface.
const SIG_HOLD: usize = 2;

fn is_function(handler: usize) -> bool {
    !matches!(handler, SIG_DFL | SIG_IGN | SIG_HOLD | SIG_ERR)
}

fn trampoline_address() -> usize {
    arch::dmdprof_trampoline as unsafe extern "C" fn() as usize
}

/// Notes whether a signal's handler takes the context.
fn takes_context(signal: i32, yes: bool) {
    let bit = 1u64 << (signal as u32 % 64);
    let Some(word) = WITH_CONTEXT.get(signal as usize / 64) else { return };
    if yes {
        word.fetch_or(bit, Relaxed);
    } else {
        word.fetch_and(!bit, Relaxed);
    }
}

fn has_context(signal: i32) -> bool {
    WITH_CONTEXT.get(signal as usize / 64).is_some_and(|word| word.load(Relaxed) >> (signal as u32 % 64) & 1 != 0)
}

/// # Safety
/// As the C function.
pub unsafe extern "C" fn sigaction(signal: i32, new: *const Action, old: *mut Action) -> i32 {
    let slot = HANDLERS.get(signal as usize);
    // SAFETY: the program passes null or an action.
    let wanted = unsafe { new.as_ref() }.copied();
    let (Some(slot), true) = (slot, attach::get().is_some()) else {
        // SAFETY: as demanded from the caller.
        return unsafe { real_sigaction(signal, new, old) };
    };
    let before = slot.load(Acquire);
    let result = match wanted {
        Some(mut action) if is_function(action.handler) && action.handler != trampoline_address() => {
            let had_context = has_context(signal);
            slot.store(action.handler, Release);
            takes_context(signal, action.flags & SA_SIGINFO != 0);
            action.handler = trampoline_address();
            // SAFETY: as demanded from the caller.
            let result = unsafe { real_sigaction(signal, &raw const action, old) };
            if result != 0 {
                slot.store(before, Release);
                takes_context(signal, had_context);
            }
            result
        }
        // SAFETY: as demanded from the caller.
        _ => unsafe { real_sigaction(signal, new, old) },
    };
    if result == 0
        // SAFETY: the program passes null or room for an action, which the call has filled.
        && let Some(old) = unsafe { old.as_mut() }
        && old.handler == trampoline_address()
    {
        old.handler = before;
    }
    result
}

/// # Safety
/// As the C function.
pub unsafe extern "C" fn signal(signal: i32, handler: usize) -> usize {
    let real = |handler: usize| {
        let function = weak_address!("signal");
        if function == 0 {
            // SAFETY: as demanded from the caller.
            return unsafe { signal_by_sigaction(signal, handler) };
        }
        // SAFETY: the C library's `signal`.
        let function: extern "C" fn(i32, usize) -> usize = unsafe { core::mem::transmute(function) };
        function(signal, handler)
    };
    let slot = HANDLERS.get(signal as usize);
    let (Some(slot), true) = (slot, attach::get().is_some()) else { return real(handler) };
    let before = slot.load(Acquire);
    let old = if is_function(handler) && handler != trampoline_address() {
        let had_context = has_context(signal);
        slot.store(handler, Release);
        takes_context(signal, false);
        let old = real(trampoline_address());
        if old == SIG_ERR {
            slot.store(before, Release);
            takes_context(signal, had_context);
        }
        old
    } else {
        real(handler)
    };
    if old == trampoline_address() { before } else { old }
}

unsafe fn signal_by_sigaction(signal: i32, handler: usize) -> usize {
    const SA_RESTART: i32 = 0x1000_0000;
    let new = Action { handler, mask: [0; 16], flags: SA_RESTART, restorer: 0 };
    let mut old = new;
    // SAFETY: both are actions.
    if unsafe { real_sigaction(signal, &raw const new, &raw mut old) } == 0 { old.handler } else { SIG_ERR }
}

/// The C library's, or where there is none, the kernel's.
unsafe fn real_sigaction(signal: i32, new: *const Action, old: *mut Action) -> i32 {
    let function = weak_address!("sigaction");
    if function != 0 {
        // SAFETY: the C library's `sigaction`.
        let function: extern "C" fn(i32, *const Action, *mut Action) -> i32 = unsafe { core::mem::transmute(function) };
        return function(signal, new, old);
    }
    // SAFETY: the program passes null or actions; the kernel's structure is filled before it is read.
    unsafe {
        let mut raw = KernelAction { handler: 0, flags: 0, restorer: 0, mask: 0 };
        let mut raw_old = KernelAction { handler: 0, flags: 0, restorer: 0, mask: 0 };
        let mut pointer = 0;
        if let Some(new) = new.as_ref() {
            raw = KernelAction {
                handler: new.handler,
                flags: new.flags as u32 as usize | SA_RESTORER,
                restorer: arch::dmdprof_restorer as unsafe extern "C" fn() as usize,
                mask: new.mask[0],
            };
            pointer = &raw const raw as usize;
        }
        let result =
            arch::system_call(sys::RT_SIGACTION, [signal as usize, pointer, &raw mut raw_old as usize, 8, 0, 0]);
        let _ = raw.handler;
        if result < 0 {
            sys::set_errno(-result as i32);
            return -1;
        }
        if let Some(old) = old.as_mut() {
            old.handler = raw_old.handler;
            old.flags = (raw_old.flags & !SA_RESTORER) as i32;
            old.restorer = raw_old.restorer;
            old.mask[0] = raw_old.mask;
        }
        0
    }
}

/// In the place of the frame of a handler that is over in the ordinary way.
const RETURNED: usize = 0;

trampoline_entry!(trampoline);

extern "C" fn trampoline(signal: i32, info: usize, context: *const Context, of_kernel: *const Context) {
    let handler = HANDLERS.get(signal as usize).map_or(0, |slot| slot.load(Acquire));
    if handler == 0 {
        return;
    }
    // SAFETY: the program's handler; one that takes only the number ignores the rest.
    let handler: extern "C" fn(i32, usize, *const Context) = unsafe { core::mem::transmute(handler) };
    if channel::is_inert() {
        return handler(signal, info, context);
    }
    let generation = process::generation();
    let mark = 0u8;
    let is_context = context == of_kernel || (has_context(signal) && !context.is_null());
    // SAFETY: the kernel's, or that of somebody who was asked for one.
    let stacks = if is_context { Stacks::from_context(unsafe { &*context }) } else { Stacks::now() };
    let interrupted = enter(&stacks, &raw const mark as usize);
    handler(signal, info, context);
    // After a fork inside the handler, the child stays on its own ring.
    if process::generation() == generation
        && let Some(ring) = interrupted
    {
        thread::set_current(ring);
        // SAFETY: `enter` has found both rings active and this thread's.
        unsafe { thread::private(thread::private(ring).handler).frame = RETURNED };
    }
}

/// Where the interrupted code and handlers have their stacks.
struct Stacks {
    /// Of the interrupted code, if that is known.
    pointer: Option<usize>,
    /// The alternate stack; empty = there is none.
    alternate: core::ops::Range<usize>,
}

impl Stacks {
    fn from_context(context: &Context) -> Self {
        Self {
            pointer: Some(context.stack_pointer()),
            alternate: alternate(context.stack, context.stack_flags, context.stack_bytes),
        }
    }

    /// Without a context.
    fn now() -> Self {
        let mut stack = [0usize; 3];
        // SAFETY: room for `stack_t`.
        let done = unsafe { sys::call(sys::SIGALTSTACK, 0, stack.as_mut_ptr() as usize, 0, 0, 0, 0) };
        let [start, flags, bytes] = stack;
        let alternate = if done == 0 { alternate(start, flags as u64 & 0xffff_ffff, bytes) } else { 0..0 };
        Self { pointer: None, alternate }
    }
}

fn alternate(start: usize, flags: u64, bytes: usize) -> core::ops::Range<usize> {
    const DISABLED: u64 = 2;
    if flags & DISABLED == 0 { start..start + bytes } else { start..start }
}

/// Changes to the handler's ring; gives the ring to change back to.
fn enter(stacks: &Stacks, frame: usize) -> Option<*mut RingHeader> {
    let mut was_left = false;
    // Another handler in the middle of this would find the ring's private part half written.
    let mask = sys::block_signals();
    let interrupted = enter_blocked(stacks, frame, &mut was_left);
    sys::restore_signals(mask);
    if was_left {
        ring::write([(EventKind::Restart as u64) << 56 | 1 << 48]);
    }
    interrupted
}

fn enter_blocked(stacks: &Stacks, frame: usize, was_left: &mut bool) -> Option<*mut RingHeader> {
    let mut now = thread::current();
    // SAFETY: the thread's pointer always names a header; an active one is the thread's own.
    unsafe {
        if (*now).state.load(Relaxed) == ring_state::UNUSED {
            now = ring::first_ring();
        }
        if !thread::is_active(now) {
            // Scratch: nobody reads it, so nothing can be torn.
            return None;
        }
        if let Some(pointer) = stacks.pointer {
            now = settle(now, pointer);
        }
        let private = thread::private(now);
        if private.handler.is_null() {
            private.handler = ring::claim(attach::get()?, ring_kind::SIGNAL, private.index)?;
        }
        let own = thread::private(private.handler);
        own.interrupted = now;
        *was_left = own.frame != RETURNED;
        own.frame = frame;
        own.alternate_low = stacks.alternate.start;
        own.alternate_high = stacks.alternate.end;
        thread::set_current(private.handler);
    }
    Some(now)
}

/// The ring of the innermost code that still runs when the stack pointer is `stack`.
///
/// # Safety
/// `ring` must be an active ring of this thread.
unsafe fn settle(mut ring: *mut RingHeader, stack: usize) -> *mut RingHeader {
    // SAFETY: the chain consists of active rings of this thread, and ends at one that is no handler's.
    unsafe {
        while (*ring).kind == ring_kind::SIGNAL {
            let private = thread::private(ring);
            let alternate = private.alternate_low..private.alternate_high;
            let above = stack > private.frame;
            let gone = match (alternate.contains(&private.frame), alternate.contains(&stack)) {
                (true, true) | (false, false) => above,
                (true, false) => true,
                (false, true) => false,
            };
            if !gone {
                break;
            }
            ring = private.interrupted;
        }
    }
    ring
}

/// `setjmp` has returned; `stack` is the stack pointer there.
pub extern "C" fn landed(stack: usize) {
    let now = thread::current();
    // SAFETY: the thread's pointer always names a header; an active one is the thread's own.
    unsafe {
        if thread::is_active(now) && (*now).kind == ring_kind::SIGNAL {
            thread::set_current(settle(now, stack));
        }
    }
}

/// Makes the ring of the thread's next handler.
pub fn prepare(channel: &ChannelHeader) {
    let now = thread::current();
    // SAFETY: the thread's pointer always names a header; an active one is the thread's own.
    unsafe {
        if thread::is_active(now) {
            let private = thread::private(now);
            if private.handler.is_null() {
                private.handler = ring::claim(channel, ring_kind::SIGNAL, private.index).unwrap_or_default();
            }
        }
    }
}

/// Gives the program its handlers back.
pub fn restore() {
    for (signal, slot) in (0i32..).zip(&HANDLERS) {
        let handler = slot.load(Acquire);
        if handler == 0 {
            continue;
        }
        let mut action = Action { handler: 0, mask: [0; 16], flags: 0, restorer: 0 };
        // SAFETY: room for an action; then the same action with the handler that it stands for.
        unsafe {
            if real_sigaction(signal, core::ptr::null(), &raw mut action) == 0 && action.handler == trampoline_address()
            {
                action.handler = handler;
                real_sigaction(signal, &raw const action, core::ptr::null_mut());
            }
        }
    }
}
