//! What structures hold in memory, by the allocator's own count.
//!
//! Takes what makes something, and what that tells of its memory; fails if the two differ by more than a fifth, which
//! is what maps hold beyond their entries. Counts what the thread itself allocates.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

thread_local! {
    static HELD: Cell<i64> = const { Cell::new(0) };
}

fn count(bytes: usize, sign: i64) {
    HELD.with(|held| held.set(held.get() + sign * bytes as i64));
}

// SAFETY: the system's allocator does what it is asked; counting neither allocates nor ends with the thread.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 1);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 1);
        // SAFETY: as the caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        count(layout.size(), -1);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// Fails unless what is made tells its memory right.
pub fn tells_what_it_holds<T>(make: impl FnOnce() -> T, told: impl Fn(&T) -> u64) {
    let before = HELD.get();
    let made = make();
    let held = u64::try_from(HELD.get() - before).expect("what is made holds something");
    let told = told(&made);
    assert!(5 * told.abs_diff(held) <= held, "{told} bytes are told, {held} are held");
}
