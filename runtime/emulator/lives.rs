//! Lives of blocks by registers: where no library tells them, and the emulator lets registers be read.
//!
//! Takes the callbacks at functions that give and take blocks and at where calls return to; tells what begins and ends.
//! A program that is started with the library, and is linked dynamically, has that to tell it.

use std::sync::atomic::Ordering::Relaxed;

use dmdprof_hooks::emulator::{self, Call};

use crate::{
    allocators::{CallFrame, Function, Life},
    code::Site,
    registers::{self, Registers},
    system,
    thread::Thread,
};

/// A function that gives or takes blocks is entered.
pub fn entered(thread: &mut Thread, function: Function) {
    let Some(entered) = registers::chosen().filter(|_| system::TELLS.load(Relaxed) == 0).and_then(Registers::entered)
    else {
        return;
    };
    let stack = thread.frames.stack(entered.pointer);
    let place = CallFrame { returns_to: entered.returns_to, pointer: entered.pointer, stack };
    let life = thread.calls.enters(function, entered.arguments, place);
    tell(thread, 0, life);
}

/// A call may have returned to an instruction.
pub fn returned(thread: &mut Thread, site: &'static Site) {
    if !thread.calls.is_inside() {
        return;
    }
    let Some((pointer, given)) = registers::chosen().and_then(Registers::returned) else { return };
    let place = CallFrame { returns_to: site.address, pointer, stack: thread.frames.stack(pointer) };
    let Some(life) = thread.calls.returns(place, given) else { return };
    thread.write_down();
    thread.frames.arrives(site.block.function);
    tell(thread, site.call_before(), Some(life));
}

fn tell(thread: &mut Thread, site: u64, life: Option<Life>) {
    let Some(life) = life else { return };
    thread.write_down();
    let (call, [a, b, c]) = match life {
        Life::Ends { address } => return emulator::block_ends(site, address),
        Life::Begins { address, bytes } => (Call::Alloc, [address, bytes, 0]),
        Life::BeginsAt { pointer, bytes } => (Call::AllocOut, [0, pointer, bytes]),
        Life::Moves { from, to, bytes } => (Call::Realloc, [from, to, bytes]),
    };
    emulator::call(site, call, [a, b, c, 0]);
}
