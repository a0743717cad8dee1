//! C inside crates: zlib compresses, mimalloc allocates.

use std::ffi::c_ulong;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn compressed(bytes: &[u8]) -> Vec<u8> {
    // SAFETY: the buffer is as long as zlib says it must be.
    unsafe {
        let mut length = libz_sys::compressBound(bytes.len() as c_ulong);
        let mut out = vec![0; length as usize];
        let status = libz_sys::compress(out.as_mut_ptr(), &mut length, bytes.as_ptr(), bytes.len() as c_ulong);
        assert_eq!(status, libz_sys::Z_OK);
        out.truncate(length as usize);
        out
    }
}

fn main() {
    let text: String = (0..3000).map(|n| format!("{} ", n * n % 571)).collect();
    let packed = compressed(text.as_bytes());
    let sum = packed.iter().map(|byte| u64::from(*byte)).sum::<u64>();
    let mut lists: Vec<Vec<u32>> = (0..200).map(|n| (0..n).collect()).collect();
    lists.retain(|list| list.len() % 3 != 0);
    println!("{} {} {sum} {}", text.len(), packed.len(), lists.iter().map(Vec::len).sum::<usize>());
}
