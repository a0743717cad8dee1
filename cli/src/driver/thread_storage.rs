//! Whether a linked program has somebody who sets up thread-local storage, in which hooks keep a pointer.
//!
//! Takes the program. Refuses a static one with hooks in which nothing does: with a start of its own and without the C
//! library's (`-nostdlib`, `-nostartfiles`) it would die of SIGSEGV at its first access, whether it is profiled or not.
//! In other programs the dynamic linker or the C library's start code does it, or code of the program's own.

use std::{fs, path::Path};

use anyhow::{Context, bail};
use object::{
    Endianness, FileKind, Object, ObjectSection, ReadCache, elf,
    read::elf::{ElfFile64, FileHeader, ProgramHeader},
};

/// # Errors
/// When nothing sets it up, or the program cannot be read.
pub fn check(program: &Path) -> anyhow::Result<()> {
    // `-o /dev/null`, or a pipe.
    if !program.is_file() {
        return Ok(());
    }
    if is_missing(program).with_context(|| format!("cannot read {}", program.display()))? {
        fs::remove_file(program).ok();
        bail!(
            "{}: nothing sets up thread-local storage in this program, which is static and has a start of its own in place of the C \
             library's (-nostdlib, -nostartfiles); hooks need it, and the program would die of SIGSEGV. Link it with the C library's \
             start files, or build it with clang, without hooks",
            program.display()
        );
    }
    Ok(())
}

fn is_missing(program: &Path) -> anyhow::Result<bool> {
    let data = &ReadCache::new(fs::File::open(program)?);
    // Other formats (`-Wl,--oformat`) are for machines without a system.
    if !matches!(FileKind::parse(data), Ok(FileKind::Elf64)) {
        return Ok(false);
    }
    let file = ElfFile64::<Endianness, _>::parse(data)?;
    let endian = file.elf_header().endian()?;
    let parts = file.elf_program_headers();
    let has = |kind| parts.iter().any(|part| part.p_type(endian) == kind);
    // Objects without hooks never look at the storage of those that are linked in.
    let has_hooks = file.section_by_name(dmdprof_runtime::abi::SECTION).is_some_and(|section| section.size() > 0);
    if has(elf::PT_INTERP) || !has(elf::PT_TLS) || !has_hooks {
        return Ok(false);
    }
    let code =
        parts.iter().filter(|part| part.p_type(endian) == elf::PT_LOAD && part.p_flags(endian).contains(elf::PF_X));
    for part in code {
        if part.data(endian, data).is_ok_and(sets_thread_pointer) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether code may set the base of the segment fs: by `arch_prctl(ARCH_SET_FS)`, whose number every C library and
/// runtime has in an instruction, or by `wrfsbase`.
fn sets_thread_pointer(code: &[u8]) -> bool {
    const ARCH_SET_FS: [u8; 4] = 0x1002_u32.to_le_bytes();
    let is_number = |end: usize| code[end..].starts_with(&ARCH_SET_FS) && ends_with_immediate_form(&code[..end]);
    let is_wrfsbase = |bytes: &[u8]| {
        bytes[0] == 0xf3 && bytes[1] & 0xf0 == 0x40 && bytes[2..4] == [0x0f, 0xae] && bytes[4] & 0xf8 == 0xd0
    };
    (0..code.len()).any(is_number) || code.windows(5).any(is_wrfsbase)
}

/// Whether the bytes before a number make it the operand of a `mov` or `push`; it may as well be a distance.
fn ends_with_immediate_form(before: &[u8]) -> bool {
    let at = |back: usize| before.len().checked_sub(back).map_or(0, |index| before[index]);
    let is_mov_to_register = at(1) & 0xf8 == 0xb8;
    let is_push = at(1) == 0x68;
    // To a register or through one; with a distance of a byte; with that and an index.
    let is_mov = (at(2) == 0xc7 && matches!(at(1), 0xc0..=0xc7 | 0x00..=0x07))
        || (at(3) == 0xc7 && matches!(at(2), 0x40..=0x47))
        || (at(4) == 0xc7 && at(3) == 0x44);
    is_mov_to_register || is_push || is_mov
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_sets_the_thread_pointer() {
        let system_call = [0xbf, 0x02, 0x10, 0, 0, 0xb8, 0x9e, 0, 0, 0, 0x0f, 0x05];
        assert!(sets_thread_pointer(&system_call) && !sets_thread_pointer(&system_call[5..]));
        assert!(sets_thread_pointer(&[0xc7, 0x45, 0xf8, 0x02, 0x10, 0, 0]), "mov dword ptr [rbp - 8], 0x1002");
        assert!(!sets_thread_pointer(&[0x48, 0x8d, 0x15, 0x02, 0x10, 0, 0]), "lea rdx, [rip + 0x1002]");
        assert!(sets_thread_pointer(&[0x90, 0xf3, 0x48, 0x0f, 0xae, 0xd7]), "wrfsbase rdi");
        assert!(!sets_thread_pointer(&[0xf3, 0x48, 0x0f, 0xae, 0xc7]), "rdfsbase rdi");
        assert!(!sets_thread_pointer(dmdprof_runtime::hooks_object::HOOKS_OBJECT), "or nothing would be refused");
    }
}
