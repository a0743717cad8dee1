//! Which system calls of x86-64 have effects that last.

use libc::{
    AT_FDCWD, CLONE_THREAD, CLONE_VM, O_CREAT, O_DIRECTORY, O_RDONLY, O_RDWR, O_TMPFILE, O_TRUNC, O_WRONLY, SYS_chdir,
    SYS_clone, SYS_connect, SYS_fork, SYS_ioctl, SYS_kill, SYS_mmap, SYS_open, SYS_openat, SYS_read, SYS_renameat2,
    SYS_socket, SYS_tgkill, SYS_unlink, SYS_write, TCGETS, TIOCSTI,
};

use crate::lasting;

const PROCESS: u64 = 7;

fn lasts(number: i64, operands: [u64; 3]) -> bool {
    let [a, b, c] = operands;
    lasting::lasts(number, [a, b, c, 0, 0, 0], || PROCESS)
}

#[test]
fn reading_and_printing_do_not_last() {
    let here = AT_FDCWD as u64;
    assert!(!lasts(SYS_read, [3, 0, 0]) && !lasts(SYS_mmap, [0, 0, 0]) && !lasts(SYS_chdir, [0, 0, 0]));
    assert!(!lasts(SYS_write, [1, 0, 0]) && !lasts(SYS_write, [2, 0, 0]));
    assert!(
        !lasts(SYS_open, [0, O_RDONLY as u64, 0]) && !lasts(SYS_openat, [here, 0, (O_RDONLY | O_DIRECTORY) as u64])
    );
    assert!(!lasts(SYS_clone, [(CLONE_VM | CLONE_THREAD) as u64, 0, 0]) && !lasts(SYS_tgkill, [PROCESS, 0, 0]));
    assert!(!lasts(SYS_ioctl, [1, TCGETS, 0]) && !lasts(SYS_socket, [0, 0, 0]));
}

#[test]
fn what_others_see_lasts() {
    let here = AT_FDCWD as u64;
    assert!(lasts(SYS_write, [3, 0, 0]) && lasts(SYS_unlink, [0, 0, 0]) && lasts(SYS_renameat2, [0, 0, 0]));
    for flags in [O_WRONLY, O_RDWR, O_RDONLY | O_CREAT, O_RDONLY | O_TRUNC, O_RDWR | O_TMPFILE] {
        assert!(lasts(SYS_open, [0, flags as u64, 0]) && lasts(SYS_openat, [here, 0, flags as u64]), "{flags:o}");
    }
    assert!(
        lasts(SYS_fork, [0, 0, 0]) && lasts(SYS_clone, [CLONE_VM as u64, 0, 0]) && lasts(SYS_kill, [PROCESS, 9, 0])
    );
    assert!(
        lasts(SYS_tgkill, [PROCESS + 1, 0, 0]) && lasts(SYS_connect, [3, 0, 0]) && lasts(SYS_ioctl, [0, TIOCSTI, 0])
    );
    assert!(lasts(10_000, [0, 0, 0]), "a call that nobody knows");
}
