//! Cyclic scan in Rust: 256 words, 4 passes, always ascending. As `cyclic.c`: every read at depths 8N-7 .. 8N.
//! The standard library's start-up leaves bytes on the stack, but below the N words, which are written afterwards.

const N: usize = 256;
const PASSES: usize = 4;

#[inline(never)]
#[unsafe(no_mangle)]
pub extern "C" fn kernel(words: *const u64) -> u64 {
    let mut sum = 0u64;
    for _ in 0..PASSES {
        for i in 0..N {
            // SAFETY: `main` passes a block of N words.
            sum = sum.wrapping_add(unsafe { words.add(i).read_volatile() });
        }
    }
    sum
}

#[inline(never)]
fn fill(words: *mut u64) {
    for i in 0..N {
        // SAFETY: `main` passes a block of N words.
        unsafe { words.add(i).write_volatile(i as u64) };
    }
}

fn main() {
    let mut words = vec![0u64; N];
    let pointer = words.as_mut_ptr();
    fill(pointer);
    let sum = kernel(pointer);
    println!("{sum}");
}
