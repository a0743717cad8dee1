//! Growth by reallocation in Rust, as `growth.c` with 4 words doubling 6 times, through `std::alloc`.
//! Live before the kernel, above whatever the start-up left: the hot word.

use std::alloc::{Layout, alloc, realloc};

const FIRST: usize = 4;
const GROWTHS: usize = 6;

fn layout(words: usize) -> Layout {
    Layout::array::<u64>(words).expect("a small array")
}

/// # Safety
/// `hot` points to a word.
#[inline(never)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kernel(hot: *const u64) -> u64 {
    let mut sum = 0u64;
    let mut size = FIRST;
    // SAFETY: all accesses below are inside `block`, which holds `size` words, or inside a fresh block of one word.
    unsafe {
        let mut block = alloc(layout(size)).cast::<u64>();
        for i in 0..size {
            block.add(i).write_volatile(i as u64);
        }
        for growth in 0..GROWTHS {
            let in_the_way = alloc(layout(1)).cast::<u64>();
            in_the_way.write_volatile(growth as u64);
            block = realloc(block.cast(), layout(size), 16 * size).cast::<u64>();
            for i in size..2 * size {
                block.add(i).write_volatile(i as u64);
            }
            size *= 2;
            for i in 0..size {
                sum = sum.wrapping_add(block.add(i).read_volatile());
            }
        }
        block = realloc(block.cast(), layout(size), 8).cast::<u64>();
        sum.wrapping_add(hot.read_volatile()).wrapping_add(block.read_volatile())
    }
}

fn main() {
    let mut hot = vec![0u64; 1];
    let pointer = hot.as_mut_ptr();
    // SAFETY: `pointer` is the only word of `hot`.
    let sum = unsafe {
        pointer.write_volatile(7);
        kernel(pointer)
    };
    println!("{sum}");
}
