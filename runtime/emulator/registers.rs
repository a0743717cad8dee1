//! Registers of the program, where the emulator lets a plugin read them: from version 3 of its interface on.
//!
//! Takes names, gives numbers. The functions for that are looked up while the plugin runs, as older emulators do not
//! have them; so are those of the library that their lists come from.

use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::{OnceLock, atomic::Ordering::Relaxed};

use crate::{
    allocators::ARGUMENTS,
    execute,
    processor::{Names, chosen as processor},
    qemu::{self, function},
};

/// The oldest interface that is asked for registers.
const OLDEST: c_int = 3;

/// A list of GLib.
#[repr(C)]
struct List<T> {
    items: *mut T,
    count: c_uint,
}

/// What the emulator says of a register.
#[repr(C)]
struct Described {
    handle: Handle,
    name: *const c_char,
    feature: *const c_char,
}

/// Names a register to the emulator.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Handle(*mut c_void);

// SAFETY: a number, as far as others than the emulator are concerned; it is the same for all threads.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

type Bytes = List<u8>;

/// The functions that are looked up.
struct Functions {
    list: unsafe extern "C" fn() -> *mut List<Described>,
    free_list: unsafe extern "C" fn(*mut List<Described>, c_int) -> *mut c_char,
    read: unsafe extern "C" fn(Handle, *mut Bytes) -> c_int,
    new_bytes: unsafe extern "C" fn() -> *mut Bytes,
    set_count: unsafe extern "C" fn(*mut Bytes, c_uint) -> *mut Bytes,
    free_bytes: unsafe extern "C" fn(*mut Bytes, c_int) -> *mut u8,
}

impl Functions {
    fn find() -> Option<Self> {
        if qemu::INTERFACE.load(Relaxed) < OLDEST {
            return None;
        }
        // SAFETY: the types are those that the emulator and GLib declare.
        unsafe {
            Some(Self {
                list: function(c"qemu_plugin_get_registers")?,
                free_list: function(c"g_array_free")?,
                read: function(c"qemu_plugin_read_register")?,
                new_bytes: function(c"g_byte_array_new")?,
                set_count: function(c"g_byte_array_set_size")?,
                free_bytes: function(c"g_byte_array_free")?,
            })
        }
    }

    /// The registers that have these names.
    fn handles<const COUNT: usize>(&self, names: [&CStr; COUNT]) -> Option<[Handle; COUNT]> {
        // SAFETY: a thread of the program asks; the list is its own, and ends here.
        unsafe {
            let list = (self.list)().as_ref()?;
            let all: &[Described] =
                if list.count == 0 { &[] } else { core::slice::from_raw_parts(list.items, list.count as usize) };
            let named = |name: &CStr| all.iter().find(|one| !one.name.is_null() && CStr::from_ptr(one.name) == name);
            let found = names.map(|name| named(name).map(|one| one.handle));
            (self.free_list)(core::ptr::from_ref(list).cast_mut(), 1);
            found.iter().all(Option::is_some).then(|| found.map(|one| one.unwrap_or(Handle(core::ptr::null_mut()))))
        }
    }
}

/// The registers that functions are called with.
pub struct Registers {
    functions: Functions,
    stack: Handle,
    arguments: [Handle; ARGUMENTS],
    given: Handle,
    link: Option<Handle>,
}

/// Where a function is entered.
pub struct Entered {
    pub pointer: u64,
    pub returns_to: u64,
    pub arguments: [u64; ARGUMENTS],
}

impl Registers {
    /// Those of a processor; `None` = they cannot be read. For a thread of the program.
    pub fn find(names: &Names) -> Option<Self> {
        let functions = Functions::find()?;
        let arguments = functions.handles(names.arguments)?;
        let [stack, given, link] = functions.handles([names.stack, names.given, names.link.unwrap_or(names.stack)])?;
        Some(Self { functions, stack, arguments, given, link: names.link.map(|_| link) })
    }

    /// What a function is called with, for a callback at its first instruction that may read registers.
    pub fn entered(&self) -> Option<Entered> {
        let [a, b, c] = self.arguments;
        let [pointer, link, a, b, c] = self.read([self.stack, self.link.unwrap_or(self.stack), a, b, c])?;
        let returns_to = match self.link {
            Some(_) => link,
            // SAFETY: the call has just stored it there.
            None => unsafe { (pointer as *const u64).read_unaligned() },
        };
        Some(Entered { pointer, returns_to, arguments: [a, b, c] })
    }

    /// The stack pointer, as it was where the function was entered that may have returned, and what that gave.
    pub fn returned(&self) -> Option<(u64, u64)> {
        const ADDRESS: u64 = 8;
        let [pointer, given] = self.read([self.stack, self.given])?;
        let taken = if self.link.is_some() { 0 } else { ADDRESS };
        Some((pointer.wrapping_sub(taken), given))
    }

    fn read<const COUNT: usize>(&self, registers: [Handle; COUNT]) -> Option<[u64; COUNT]> {
        let Functions { new_bytes, set_count, read, free_bytes, .. } = &self.functions;
        // SAFETY: the list is this call's own. The emulator has said what its registers are.
        unsafe {
            let bytes = new_bytes();
            let values = registers.map(|register| {
                set_count(bytes, 0);
                let is_whole = read(register, bytes) == 8 && (*bytes).count == 8;
                is_whole.then(|| (*bytes).items.cast::<u64>().read_unaligned())
            });
            free_bytes(bytes, 1);
            values.iter().all(Option::is_some).then(|| values.map(Option::unwrap_or_default))
        }
    }
}

static REGISTERS: OnceLock<Option<Registers>> = OnceLock::new();

/// The registers that tell lives, if they do. For a thread of the program.
pub fn chosen() -> Option<&'static Registers> {
    let find = || if execute::has_library() { None } else { Registers::find(&processor().registers) };
    REGISTERS.get_or_init(find).as_ref()
}

/// Nobody goes by lives of blocks: nothing is to be looked at for them.
pub fn leave_out() {
    REGISTERS.get_or_init(|| None);
}
