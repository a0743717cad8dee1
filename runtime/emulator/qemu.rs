//! The part of QEMU's plugin interface that is used: what its versions 1 to 5 have in common (4.2 to 10.2).
//!
//! Declared here, as distributions that have the emulator often do not have its header.

use core::{
    ffi::{CStr, c_char, c_int, c_uint, c_void},
    sync::atomic::{AtomicI32, Ordering::Relaxed},
};

/// The oldest version of the interface: what the emulator has up to 8.2.
pub const OLDEST: c_int = 1;
/// What a plugin is to have from 9.0 on. Versions 3 to 5 add to it, but for functions that are not used here.
pub const SECOND: c_int = 2;
/// The newest that an emulator may have: that of 10.2. Version 7 has other callbacks.
pub const NEWEST: c_int = 5;

/// Names this plugin to the emulator.
pub type Id = u64;
/// Kind and size of an access.
pub type MemInfo = u32;

/// A block of translated code.
#[repr(C)]
pub struct Block {
    _private: [u8; 0],
}

/// An instruction of a block.
#[repr(C)]
pub struct Instruction {
    _private: [u8; 0],
}

/// What the emulator says of itself when it loads the plugin.
#[repr(C)]
pub struct Info {
    /// Name of the processor that is emulated.
    pub target_name: *const c_char,
    /// The oldest version that the emulator still has.
    pub version_min: c_int,
    /// Its own.
    pub version_current: c_int,
    /// A whole machine, not one program.
    pub system_emulation: bool,
}

/// Version of the emulator's interface.
pub static INTERFACE: AtomicI32 = AtomicI32::new(OLDEST);

/// Whether an access that the emulator calls a store reads too: that of an atomic instruction, of which there is one
/// callback. The interface has no function for this; the bits are where versions 1 to 4 have them. From version 5 on
/// others overlap them, and an atomic instruction has two callbacks.
pub fn reads_and_writes(info: MemInfo) -> bool {
    info >> 16 == 3 && INTERFACE.load(Relaxed) < 5
}

/// A function of the emulator, or of a library that is loaded with it, which others may not have.
///
/// # Safety
/// It must be of this type.
pub unsafe fn function<F: Copy>(name: &CStr) -> Option<F> {
    unsafe extern "C" {
        fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    }
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    // SAFETY: the library's function; null stands for all that is loaded.
    let found = unsafe { dlsym(core::ptr::null_mut(), name.as_ptr()) };
    // SAFETY: as demanded from the caller; a pointer to a function is a pointer.
    (!found.is_null()).then(|| unsafe { core::mem::transmute_copy(&found) })
}

/// A callback does not look at registers.
pub const NO_REGISTERS: c_int = 0;
/// It reads them.
pub const READS_REGISTERS: c_int = 1;
/// Reads and writes.
pub const READS_AND_WRITES: c_int = 3;

pub type Translated = extern "C" fn(Id, *mut Block);
pub type Accessed = extern "C" fn(c_uint, MemInfo, u64, *mut c_void);
pub type Executed = extern "C" fn(c_uint, *mut c_void);
pub type Processor = extern "C" fn(Id, c_uint);
pub type SystemCall = extern "C" fn(Id, c_uint, i64, u64, u64, u64, u64, u64, u64, u64, u64);
pub type SystemCallDone = extern "C" fn(Id, c_uint, i64, i64);

unsafe extern "C" {
    pub fn qemu_plugin_register_vcpu_tb_trans_cb(id: Id, callback: Translated);
    pub fn qemu_plugin_register_vcpu_mem_cb(
        instruction: *mut Instruction,
        callback: Accessed,
        flags: c_int,
        which: c_int,
        data: *mut c_void,
    );
    pub fn qemu_plugin_register_vcpu_insn_exec_cb(
        instruction: *mut Instruction,
        callback: Executed,
        flags: c_int,
        data: *mut c_void,
    );
    pub fn qemu_plugin_register_vcpu_tb_exec_cb(block: *mut Block, callback: Executed, flags: c_int, data: *mut c_void);
    pub fn qemu_plugin_register_vcpu_exit_cb(id: Id, callback: Processor);
    pub fn qemu_plugin_register_vcpu_syscall_cb(id: Id, callback: SystemCall);
    pub fn qemu_plugin_register_vcpu_syscall_ret_cb(id: Id, callback: SystemCallDone);
    pub fn qemu_plugin_tb_n_insns(block: *const Block) -> usize;
    pub fn qemu_plugin_tb_get_insn(block: *const Block, index: usize) -> *mut Instruction;
    pub fn qemu_plugin_insn_vaddr(instruction: *const Instruction) -> u64;
    pub fn qemu_plugin_insn_size(instruction: *const Instruction) -> usize;
    pub fn qemu_plugin_mem_size_shift(info: MemInfo) -> c_uint;
    pub fn qemu_plugin_mem_is_store(info: MemInfo) -> bool;
}
