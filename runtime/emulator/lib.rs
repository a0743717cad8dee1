//! A plugin of QEMU's user emulator: the accesses of a program without hooks, as records of the hooks' rings.
//!
//! Built by `runtime/build.rs` into one shared object, which the emulator loads. Takes the emulator's callbacks, gives
//! records and, in the channel, the sites that they name. Refuses the emulation of a whole machine, processors that it
//! does not know, and an emulator whose interface is newer than it knows. Without a channel it does nothing.
//!
//! | file | what |
//! |---|---|
//! | `qemu` | the emulator's interface |
//! | `processor`, `numbers` | what differs between processors |
//! | `x86` | what an instruction is |
//! | `modules`, `sections` | which file and function an instruction is from |
//! | `code`, `area` | instructions and blocks, and the segments that stand for them |
//! | `thread`, `record` | from accesses to records |
//! | `frames` | calls and returns, the stack's live part |
//! | `lives`, `allocators` | lives of blocks, where no library tells them |
//! | `registers`, `returns` | registers; where calls return to |
//! | `system`, `execute` | system calls; programs that are started |

#![deny(unsafe_op_in_unsafe_fn)]

mod allocators;
mod area;
mod code;
mod execute;
mod frames;
mod lives;
mod modules;
mod numbers;
mod processor;
mod qemu;
mod record;
mod registers;
mod returns;
mod sections;
mod system;
mod thread;
mod x86;

use std::{
    ffi::{CStr, c_char, c_int, c_uint, c_void},
    fs::File,
    os::unix::fs::FileExt,
    sync::atomic::{AtomicI32, Ordering::Relaxed},
};

use dmdprof_abi::emulated::{self, ToldInstructions};
use dmdprof_hooks::emulator;

use crate::{
    allocators::Function,
    code::{Block, Site},
    processor::chosen,
    x86::Class,
};

/// The version of the interface that the plugin is for. The emulator reads it once it has loaded the plugin, so that it
/// can be what that emulator has: from 9.0 on it refuses the first one.
#[unsafe(no_mangle)]
pub static qemu_plugin_version: AtomicI32 = AtomicI32::new(qemu::OLDEST);

/// Chooses the version, before the emulator looks at it.
#[used]
#[unsafe(link_section = ".init_array")]
static CHOOSE: extern "C" fn() = choose_version;

extern "C" fn choose_version() {
    // SAFETY: it is not called.
    if unsafe { qemu::function::<*const c_void>(c"qemu_plugin_scoreboard_new") }.is_some() {
        qemu_plugin_version.store(qemu::SECOND, Relaxed);
    }
}

/// What the emulator calls when it has loaded the plugin.
///
/// # Safety
/// Only for the emulator: `info` is what its interface says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qemu_plugin_install(
    id: qemu::Id,
    info: *const qemu::Info,
    count: c_int,
    arguments: *const *const c_char,
) -> c_int {
    // SAFETY: as demanded from the caller: so many texts.
    let argument = |at| unsafe { CStr::from_ptr(*arguments.add(at)) }.to_str().ok();
    let arguments = (0..usize::try_from(count).unwrap_or(0)).filter_map(argument);
    // SAFETY: as demanded from the caller.
    let (name, newest, is_machine) =
        unsafe { (CStr::from_ptr((*info).target_name), (*info).version_current, (*info).system_emulation) };
    if newest > qemu::NEWEST {
        let (known, advice) = (qemu::NEWEST, "QEMU 4.2 to 10.2 have one that it knows");
        let what =
            format!("dmdprof: the emulator's plugin interface has version {newest}, and dmdprof knows 1 to {known}");
        emulator::say(format!("{what}: {advice}\n").as_bytes());
        return -1;
    }
    qemu::INTERFACE.store(newest, Relaxed);
    if is_machine {
        emulator::say(b"dmdprof: the plugin is for programs, not for the emulation of a machine\n");
        return -1;
    }
    if !processor::choose(name) {
        emulator::say(b"dmdprof: the plugin is for programs of x86-64, aarch64 and riscv64\n");
        return -1;
    }
    if !emulator::attach() {
        return 0;
    }
    execute::remember();
    for argument in arguments {
        if argument == emulated::NO_LIVES {
            registers::leave_out();
        } else if let Some(told) = ToldInstructions::from_argument(argument) {
            code::tell(told);
        }
    }
    // SAFETY: the emulator's own functions, with callbacks of the types that it declares.
    unsafe {
        qemu::qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
        qemu::qemu_plugin_register_vcpu_syscall_cb(id, system_call);
        qemu::qemu_plugin_register_vcpu_syscall_ret_cb(id, system_call_done);
        qemu::qemu_plugin_register_vcpu_exit_cb(id, thread_ended);
    }
    0
}

extern "C" fn translated(_: qemu::Id, block: *mut qemu::Block) {
    // SAFETY: the emulator's own functions, for what it gave. The program's code lies where its addresses say.
    let instructions: Vec<(*mut qemu::Instruction, u64, &[u8])> = unsafe {
        (0..qemu::qemu_plugin_tb_n_insns(block))
            .map(|index| qemu::qemu_plugin_tb_get_insn(block, index))
            .map(|one| {
                let (address, bytes) = (qemu::qemu_plugin_insn_vaddr(one), qemu::qemu_plugin_insn_size(one));
                (one, address, core::slice::from_raw_parts(address as *const u8, whole(address, bytes)))
            })
            .collect()
    };
    let class = |bytes: &[u8]| if chosen().is_x86() { x86::class(bytes) } else { Class::Parts };
    let classed: Vec<(u64, &[u8], Class)> =
        instructions.iter().map(|(_, address, bytes)| (*address, *bytes, class(bytes))).collect();
    let sites = code::with_code(|code| code.translated(&classed));
    if let Some(first) = sites.first().filter(|first| first.block.code != 0) {
        let data = core::ptr::from_ref(first.block).cast_mut().cast();
        // SAFETY: as above; blocks are never freed.
        unsafe { qemu::qemu_plugin_register_vcpu_tb_exec_cb(block, block_begins, qemu::NO_REGISTERS, data) };
    }
    watch_calls(&instructions, &sites);
    watch_lives(&instructions, &sites);
    let tells = system::TELLS.load(Relaxed);
    for ((instruction, address, _), site) in instructions.iter().zip(&sites) {
        let accessed = if *address == tells && tells != 0 { told } else { accessed };
        let data = core::ptr::from_ref::<Site>(site).cast_mut().cast();
        // SAFETY: as above; sites are never freed.
        unsafe {
            if site.class == Class::Parts {
                let execute = qemu::qemu_plugin_register_vcpu_insn_exec_cb;
                execute(*instruction, begins, qemu::NO_REGISTERS, data);
            }
            let (flags, which) = (qemu::NO_REGISTERS, qemu::READS_AND_WRITES);
            qemu::qemu_plugin_register_vcpu_mem_cb(*instruction, accessed, flags, which, data);
        }
    }
}

/// Has calls followed that leave their return address in a register, and where they return to.
fn watch_calls(instructions: &[(*mut qemu::Instruction, u64, &[u8])], sites: &[&'static Site]) {
    let execute = qemu::qemu_plugin_register_vcpu_insn_exec_cb;
    let watch = |one: *mut qemu::Instruction, site: &'static Site, callback| {
        let data = core::ptr::from_ref::<Site>(site).cast_mut().cast();
        // SAFETY: the emulator's own function, for what it gave; sites are never freed.
        unsafe { execute(one, callback, qemu::NO_REGISTERS, data) };
    };
    if let (Some((first, address, _)), Some(site)) = (instructions.first(), sites.first())
        && !chosen().is_x86()
        && chosen().may_return_to(*address)
    {
        watch(*first, site, comes_back);
    }
    for ((one, _, bytes), site) in instructions.iter().zip(sites) {
        if site.returns_to != 0 {
            watch(*one, site, calls);
        } else if (chosen().is_return)(bytes) {
            watch(*one, site, returns);
        }
    }
}

/// Has registers looked at where functions begin that give and take blocks, and where calls return to, if they tell
/// lives.
fn watch_lives(instructions: &[(*mut qemu::Instruction, u64, &[u8])], sites: &[&'static Site]) {
    if registers::chosen().is_none() {
        return;
    }
    let (execute, flags) = (qemu::qemu_plugin_register_vcpu_insn_exec_cb, qemu::READS_REGISTERS);
    if let (Some((first, address, _)), Some(site)) = (instructions.first(), sites.first())
        && chosen().may_return_to(*address)
    {
        let data = core::ptr::from_ref::<Site>(site).cast_mut().cast();
        // SAFETY: the emulator's own function, for what it gave; sites are never freed.
        unsafe { execute(*first, returned, flags, data) };
    }
    let found: Vec<_> = code::with_code(|code| {
        let allocator =
            |(instruction, address, _): &(_, u64, _)| Some((*instruction, code.modules.allocator(*address)?));
        instructions.iter().filter_map(allocator).collect()
    });
    for (instruction, function) in found {
        let data = core::ptr::from_ref::<Function>(function).cast_mut().cast();
        // SAFETY: as above; functions are constants.
        unsafe { execute(instruction, allocator_entered, flags, data) };
    }
}

/// Bytes to look at of an instruction, of which the emulator says so many: of one that goes on in the next page it
/// leaves out the number that does, and what is behind. Whether there is a next page tells the system.
fn whole(address: u64, bytes: usize) -> usize {
    const PAGE: u64 = 4096;
    const NUMBER: u64 = 8;
    let end = (address + bytes as u64) % PAGE;
    let is_far = end != 0 && end <= PAGE - NUMBER;
    if is_far || !chosen().is_x86() || code::told().is_none() {
        return bytes;
    }
    let mut seen = [0; emulated::INSTRUCTION_BYTES];
    let read = File::open("/proc/self/mem").and_then(|memory| memory.read_at(&mut seen, address));
    read.map_or(bytes, |read| read.max(bytes))
}

extern "C" fn block_begins(processor: c_uint, block: *mut c_void) {
    // SAFETY: the emulator calls with the number of the calling thread; the block is that of the registration.
    unsafe { thread::by_number(processor).block(&*block.cast::<Block>()) };
}

extern "C" fn begins(processor: c_uint, _: *mut c_void) {
    // SAFETY: the emulator calls with the number of the calling thread, and nothing of it is in use then.
    unsafe { thread::by_number(processor) }.begins();
}

extern "C" fn calls(processor: c_uint, site: *mut c_void) {
    // SAFETY: as above; the site is that of the registration.
    unsafe { thread::by_number(processor).calls(&*site.cast::<Site>()) };
}

extern "C" fn returns(processor: c_uint, _: *mut c_void) {
    // SAFETY: as above.
    unsafe { thread::by_number(processor) }.frames.is_returning = true;
}

extern "C" fn comes_back(processor: c_uint, site: *mut c_void) {
    // SAFETY: as above; the site is that of the registration.
    unsafe { thread::by_number(processor).comes_back(&*site.cast::<Site>()) };
}

extern "C" fn allocator_entered(processor: c_uint, function: *mut c_void) {
    // SAFETY: as above; the function is that of the registration.
    let (thread, function) = unsafe { (thread::by_number(processor), *function.cast::<Function>()) };
    lives::entered(thread, function);
}

extern "C" fn returned(processor: c_uint, site: *mut c_void) {
    // SAFETY: as above; the site is that of the registration.
    let (thread, site) = unsafe { (thread::by_number(processor), &*site.cast::<Site>()) };
    lives::returned(thread, site);
}

extern "C" fn accessed(processor: c_uint, info: qemu::MemInfo, address: u64, site: *mut c_void) {
    // SAFETY: as above; the site is that of the registration.
    let (thread, site) = unsafe { (thread::by_number(processor), &*site.cast::<Site>()) };
    let kind = site.kind(info);
    if qemu::reads_and_writes(info) {
        thread.access(site, kind.as_load(), address);
    }
    thread.access(site, kind, address);
}

extern "C" fn told(processor: c_uint, info: qemu::MemInfo, address: u64, site: *mut c_void) {
    // SAFETY: as above.
    let (thread, site) = unsafe { (thread::by_number(processor), &*site.cast::<Site>()) };
    let kind = site.kind(info);
    thread.access(site, kind, address);
    if kind.is_store() {
        // SAFETY: only the library's instruction for that comes here.
        unsafe { system::take_message(thread, address) };
    }
}

#[allow(clippy::too_many_arguments, reason = "as the emulator declares it")]
extern "C" fn system_call(
    _: qemu::Id,
    processor: c_uint,
    number: i64,
    a: u64,
    b: u64,
    c: u64,
    d: u64,
    e: u64,
    f: u64,
    _: u64,
    _: u64,
) {
    // SAFETY: as above.
    let thread = unsafe { thread::by_number(processor) };
    system::begins(thread, chosen().numbers, number, [a, b, c, d, e, f]);
}

extern "C" fn system_call_done(_: qemu::Id, processor: c_uint, number: i64, result: i64) {
    // SAFETY: as above.
    let thread = unsafe { thread::by_number(processor) };
    system::done(thread, chosen().numbers, number, result as u64);
}

extern "C" fn thread_ended(_: qemu::Id, processor: c_uint) {
    // SAFETY: as above; the emulator calls in the thread that ends.
    unsafe {
        thread::by_number(processor).write_all();
        thread::ended(processor);
    }
}
