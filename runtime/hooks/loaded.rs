//! Where the module that contains an address lies, as the dynamic linker and the kernel's start-up values tell: for
//! systems without `/proc`.
//!
//! Takes an address, gives bias, range and path. Nothing in a static program that does not contain `dl_iterate_phdr`.

use crate::abi::PAGE;
use crate::{arch, sys};

/// Where a module lies.
pub struct Loaded {
    pub bias: u64,
    pub low: u64,
    pub high: u64,
    /// Of the path in the line.
    pub path_start: usize,
    pub path_end: usize,
}

/// The start of `struct dl_phdr_info`.
#[repr(C)]
struct Info {
    bias: u64,
    name: *const u8,
    headers: *const Header,
    count: u16,
}

/// `Elf64_Phdr`.
#[repr(C)]
struct Header {
    kind: u32,
    flags: u32,
    offset: u64,
    address: u64,
    physical: u64,
    in_file: u64,
    in_memory: u64,
    align: u64,
}

struct Search<'a> {
    address: u64,
    path: &'a mut [u8],
    found: Option<Loaded>,
}

pub fn find(address: u64, path: &mut [u8]) -> Option<Loaded> {
    let iterate = weak_address!("dl_iterate_phdr");
    if iterate == 0 {
        return None;
    }
    type Look = extern "C" fn(*const Info, usize, *mut Search<'_>) -> i32;
    // SAFETY: the C library's function of that name and type.
    let iterate: extern "C" fn(Look, *mut Search<'_>) -> i32 = unsafe { core::mem::transmute(iterate) };
    let mut search = Search { address, path, found: None };
    iterate(look, &raw mut search);
    search.found
}

extern "C" fn look(info: *const Info, _bytes: usize, search: *mut Search<'_>) -> i32 {
    const PT_LOAD: u32 = 1;
    // SAFETY: the C library passes what it describes, and hands on what `find` gave it.
    let (info, search) = unsafe { (&*info, &mut *search) };
    let (mut lowest, mut highest) = (u64::MAX, 0);
    for i in 0..usize::from(info.count) {
        // SAFETY: so many headers are there.
        let header = unsafe { &*info.headers.add(i) };
        if header.kind == PT_LOAD {
            lowest = lowest.min(header.address & !(PAGE as u64 - 1));
            highest = highest.max(header.address.wrapping_add(header.in_memory));
        }
    }
    let (low, high) = (info.bias.wrapping_add(lowest), info.bias.wrapping_add(highest));
    if lowest == u64::MAX || !(low..high).contains(&search.address) {
        return 0;
    }
    // SAFETY: null or a string.
    let is_named = unsafe { info.name.as_ref() }.is_some_and(|first| *first != 0);
    let name = if is_named { info.name as usize } else { started_with(AT_EXECFN) };
    // SAFETY: a string of the C library or of the kernel, or null.
    let path_end = unsafe { put_path(name as *const u8, search.path) };
    search.found = Some(Loaded { bias: info.bias, low, high, path_start: 0, path_end });
    1
}

/// Writes a path as seen from everywhere; gives its length.
///
/// # Safety
/// `name` is null or a string.
unsafe fn put_path(name: *const u8, to: &mut [u8]) -> usize {
    if name.is_null() {
        return 0;
    }
    let mut length = 0;
    // SAFETY: as the caller says.
    if unsafe { *name } != b'/' {
        // SAFETY: the kernel writes into the buffer only, at most its length.
        let had = unsafe { sys::call(sys::GETCWD, to.as_mut_ptr() as usize, to.len(), 0, 0, 0, 0) };
        // With the end of the string, in the place of which the name begins.
        length = usize::try_from(had).unwrap_or(0);
        if let Some(slash) = length.checked_sub(1).and_then(|last| to.get_mut(last)) {
            *slash = b'/';
        }
    }
    let mut at = name;
    // SAFETY: as the caller says; ends with the string.
    while let (byte @ 1.., Some(slot)) = (unsafe { *at }, to.get_mut(length)) {
        *slot = byte;
        length += 1;
        // SAFETY: the string goes on.
        at = unsafe { at.add(1) };
    }
    length
}

const AT_PHDR: u64 = 3;
const AT_EXECFN: u64 = 31;

/// A value that the kernel started the program with; 0 = not told.
fn started_with(which: u64) -> usize {
    let ask = weak_address!("getauxval");
    if ask == 0 {
        return 0;
    }
    // SAFETY: the C library's function of that name and type.
    let ask: extern "C" fn(u64) -> usize = unsafe { core::mem::transmute(ask) };
    ask(which)
}

/// Whether the program's own file is mapped from that address on.
pub fn is_program(start: usize) -> bool {
    started_with(AT_PHDR) & !(PAGE - 1) == start
}

/// Whether the module with these hooks may go before the process does.
#[must_use]
pub fn is_library() -> bool {
    let handle = arch::module_handle() as *const usize;
    // SAFETY: null or the module's handle for the C library, which is 0 in a program.
    unsafe { handle.as_ref() }.is_some_and(|library| *library != 0)
}

/// Has the module with these hooks stay as long as the process; false = that cannot be.
pub fn stay_loaded() -> bool {
    /// `RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE`.
    const KEEP: i32 = 0x1 | 0x4 | 0x1000;
    if !is_library() {
        return true;
    }
    let (about, open) = (weak_address!("dladdr"), weak_address!("dlopen"));
    if about == 0 || open == 0 {
        return false;
    }
    let mut found = [0usize; 4];
    let here = stay_loaded as fn() -> bool as usize;
    // SAFETY: the C library's functions; `Dl_info` is four words: name and address of the module, then of a symbol.
    unsafe {
        let about: extern "C" fn(usize, *mut [usize; 4]) -> i32 = core::mem::transmute(about);
        let open: extern "C" fn(usize, i32) -> usize = core::mem::transmute(open);
        let is_there = about(here, &raw mut found) != 0;
        // A program that may lie anywhere has a handle, too.
        is_there && (is_program(found[1]) || open(found[0], KEEP) != 0)
    }
}
