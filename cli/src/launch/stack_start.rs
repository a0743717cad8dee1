//! Where a program's stack begins, on a system that does not let addresses be fixed (many containers).
//!
//! There the kernel lowers the start of each new program's stack by a random multiple of 16 bytes, and with it the
//! lines that variables lie in. Takes a command, starts it until the stack happens to begin where it begins with fixed
//! addresses, and gives that process. Each try is stopped before the program's first instruction, so tries leave
//! nothing behind. What cannot be stopped, or has rights of its own that it would lose by that, is started once.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command};
use std::ptr::null_mut;

use rustix::process::{Pid, WaitId, WaitIdOptions};

use super::surroundings::{LINE, START};

/// One of eight is right; so many in a row are wrong once in 10^11 starts.
const TRIES: usize = 200;
const SET_USER_OR_GROUP: u32 = 0o6000;

/// Addresses cannot be fixed, and a program of this file may be stopped at its start.
#[must_use]
pub fn is_random(program: &Path) -> bool {
    !may_fix_addresses() && !has_rights(program)
}

/// Programs started by this process may ask for fixed addresses.
fn may_fix_addresses() -> bool {
    const ASK: libc::c_ulong = 0xffff_ffff;
    // SAFETY: changes how programs that are started later are laid out, and is changed back.
    unsafe {
        let now = libc::personality(ASK);
        let may = now != -1 && libc::personality(now as libc::c_ulong | libc::ADDR_NO_RANDOMIZE as libc::c_ulong) != -1;
        if may {
            libc::personality(now as libc::c_ulong);
        }
        may
    }
}

/// The kernel gives the program rights that a traced one does not get.
fn has_rights(program: &Path) -> bool {
    fs::metadata(program).map_or(true, |file| file.permissions().mode() & SET_USER_OR_GROUP != 0)
        || rustix::fs::getxattr(program, "security.capability", &mut [0u8; 64][..]).is_ok()
}

/// The new process asks to be stopped when it becomes the program; to be called in it.
pub fn stop_at_start() {
    // SAFETY: takes no pointer. Refused in some sandboxes; then nothing stops.
    unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, null_mut::<u8>(), null_mut::<u8>()) };
}

/// Starts a command whose processes call [`stop_at_start`].
///
/// # Errors
/// As `Command::spawn`.
pub fn spawn(command: &mut Command) -> io::Result<Child> {
    let mut tries = 1;
    loop {
        let mut child = command.spawn()?;
        let Some(stopped) = Stopped::wait_for(&child) else { return Ok(child) };
        let is_right = stopped.stack_start().is_none_or(|start| start % LINE == START);
        if is_right || tries == TRIES {
            stopped.go_on();
            return Ok(child);
        }
        child.kill()?;
        child.wait()?;
        tries += 1;
    }
}

/// A process that has executed nothing of its program yet.
struct Stopped(Pid);

impl Stopped {
    /// Waits until the process has stopped; nothing if it does not stop, or has ended.
    fn wait_for(child: &Child) -> Option<Self> {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
        let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:"))?;
        if tracer.trim() == "0" {
            return None;
        }
        let pid = Pid::from_raw(i32::try_from(child.id()).ok()?)?;
        // Who has ended is left to be waited for.
        let what = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let status = rustix::process::waitid(WaitId::Pid(pid), what).ok()??;
        (status.stopped() || status.trapped()).then_some(Self(pid))
    }

    /// Where the stack begins, as the kernel tells it.
    fn stack_start(&self) -> Option<usize> {
        const FIELD_AFTER_NAME: usize = 25;
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.0.as_raw_nonzero())).ok()?;
        let (_, after_name) = stat.rsplit_once(')')?;
        let start = after_name.split_ascii_whitespace().nth(FIELD_AFTER_NAME)?.parse().ok()?;
        (start > 1).then_some(start)
    }

    fn go_on(self) {
        // SAFETY: takes no pointer; the process is a child of this thread that has stopped.
        unsafe { libc::ptrace(libc::PTRACE_DETACH, self.0.as_raw_nonzero().get(), null_mut::<u8>(), null_mut::<u8>()) };
    }
}
