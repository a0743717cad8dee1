//! No standard library: `alloc` over the C library's allocator.
#![no_std]
#![no_main]

extern crate alloc;

use alloc::collections::BTreeMap;
use alloc::format;
use core::alloc::{GlobalAlloc, Layout};

struct Malloc;

unsafe impl GlobalAlloc for Malloc {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        unsafe { libc::aligned_alloc(layout.align().max(16), layout.size().next_multiple_of(layout.align().max(16))).cast() }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, _: Layout) {
        unsafe { libc::free(pointer.cast()) }
    }
}

#[global_allocator]
static ALLOCATOR: Malloc = Malloc;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    unsafe { libc::abort() }
}

// What `alloc`, which was compiled with unwinding, asks for and a program that aborts does not have.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}

#[unsafe(no_mangle)]
extern "C" fn _Unwind_Resume() -> ! {
    unsafe { libc::abort() }
}

fn squares(n: u64) -> BTreeMap<u64, u64> {
    (0..n).map(|i| (i * 37 % n, i * i)).collect()
}

#[unsafe(no_mangle)]
extern "C" fn main() -> i32 {
    let table = squares(500);
    let text = format!("{} {:?}\n\0", table.len(), table.range(100..).next());
    unsafe { libc::printf(c"%s".as_ptr(), text.as_ptr()) };
    0
}
