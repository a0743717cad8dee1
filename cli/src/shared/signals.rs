//! What SIGTERM and SIGHUP do while children run: containers, services, CI systems and terminals end programs so.
//!
//! Takes children, passes both signals on to them, so that each can end in its own way and what was measured until then
//! is kept; refuses to wait a second time, when it ends a program hard. Without children the signals do what they do by
//! default. Also keeps account of SIGCHLD, which must not be ignored where children are waited for, and which children
//! must find as whoever started dmdprof left it.
//!
//! ```text
//!            expected()            started()              ended()
//! (nothing) -----------> Expected -----------> a child  -----------> Expected ---- drop ----> (nothing)
//! default                 remembered            passed on             remembered, then default
//! ```

use std::{
    os::unix::process::CommandExt,
    process::{Child, Command, ExitStatus, Output},
    sync::{
        Arc, Once,
        atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicU64, Ordering},
    },
};

use signal_hook::consts::{SIGCHLD, SIGHUP, SIGTERM, SIGXFSZ};

/// What a child does with a second signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It is ended.
    Program,
    /// It is a dmdprof, which ends its own program.
    Own,
}

const EMPTY: i64 = 0;
const EXPECTED: i64 = -1;
const OWN: i64 = 1 << 40;
/// More run at a time only if somebody asks `check` for that many jobs; the others are ended by their own parents.
const MOST: usize = 64;
/// Closing a terminal may send the same signal twice.
const TWICE: u64 = 500;

static CHILDREN: [AtomicI64; MOST] = [const { AtomicI64::new(EMPTY) }; MOST];
static RECEIVED: AtomicI32 = AtomicI32::new(0);
/// Milliseconds of the first signal, plus one.
static FIRST: AtomicU64 = AtomicU64::new(0);

/// Whether whoever started us had SIGCHLD ignored.
static CHILDREN_IGNORED: AtomicBool = AtomicBool::new(false);

/// Somebody else removes temporary files on these signals, and then ends this process.
static CLEANED_UP: AtomicBool = AtomicBool::new(false);

/// Whether somebody else ends this process on a signal, once its temporary files are gone.
pub fn is_cleaned_up(by_another: bool) {
    CLEANED_UP.store(by_another, Ordering::Release);
}

/// The signal that was to end this process.
#[must_use]
pub fn received() -> Option<i32> {
    Some(RECEIVED.load(Ordering::Acquire)).filter(|signal| *signal != 0)
}

/// A child, from before its start until its results are safe.
#[derive(Debug)]
pub struct Watched {
    slot: Option<&'static AtomicI64>,
    kind: Kind,
}

impl Watched {
    /// A child is about to be started.
    #[must_use]
    pub fn expected(kind: Kind) -> Self {
        listen();
        let take =
            |slot: &&AtomicI64| slot.compare_exchange(EMPTY, EXPECTED, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        Self { slot: CHILDREN.iter().find(take), kind }
    }

    /// It runs.
    pub fn started(&self, pid: u32) {
        let own = if self.kind == Kind::Own { OWN } else { 0 };
        let Some(slot) = self.slot else { return };
        slot.store(i64::from(pid) | own, Ordering::Release);
        // What came too early to be passed on.
        if let Some(signal) = received() {
            send(pid as i32, signal);
        }
    }

    /// It has ended, and something is left to do for it.
    pub fn ended(&self) {
        if let Some(slot) = self.slot {
            slot.store(EXPECTED, Ordering::Release);
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if let Some(slot) = self.slot {
            slot.store(EMPTY, Ordering::Release);
        }
    }
}

/// Has the system keep how children ended until somebody asks, whatever whoever started us wanted. Call it first.
pub fn keep_children() {
    if is_ignored(SIGCHLD) {
        CHILDREN_IGNORED.store(true, Ordering::Release);
        set(SIGCHLD, libc::SIG_DFL);
    }
}

/// Has a command start with SIGCHLD as whoever started us wanted it.
pub fn as_inherited(command: &mut Command) -> &mut Command {
    if CHILDREN_IGNORED.load(Ordering::Acquire) {
        let ignore = || {
            set(SIGCHLD, libc::SIG_IGN);
            Ok(())
        };
        // SAFETY: the closure makes one async-signal-safe system call and allocates nothing.
        unsafe { command.pre_exec(ignore) };
    }
    command
}

fn set(signal: i32, action: libc::sighandler_t) {
    // SAFETY: takes numbers; no handler is called.
    unsafe { libc::signal(signal, action) };
}

/// Makes a file that reaches the process's limit (`ulimit -f`) an error of the write, as a full disk is, instead of the
/// end of dmdprof.
pub fn survive_file_limit() {
    // A handler, as programs would inherit that the signal is ignored. Without it the signal ends the process.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
}

/// Starts a child and gives both; the child must be waited for, and then [`Watched::ended`].
///
/// # Errors
/// Those of the start.
pub fn spawn(command: &mut Command, kind: Kind) -> std::io::Result<(Child, Watched)> {
    let watched = Watched::expected(kind);
    let child = as_inherited(command).spawn()?;
    watched.started(child.id());
    Ok((child, watched))
}

/// As [`Command::status`].
///
/// # Errors
/// Those of the start.
pub fn status(command: &mut Command, kind: Kind) -> std::io::Result<ExitStatus> {
    let (mut child, _watched) = spawn(command, kind)?;
    child.wait()
}

/// As [`Command::output`], with the streams that the command says; the second keeps signals from this process's own end
/// as long as something is left to do for the child, which has ended.
///
/// # Errors
/// Those of the start, and of reading.
pub fn output(command: &mut Command, kind: Kind) -> std::io::Result<(Output, Watched)> {
    let (child, watched) = spawn(command, kind)?;
    let output = child.wait_with_output()?;
    watched.ended();
    Ok((output, watched))
}

fn listen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for signal in [SIGTERM, SIGHUP].into_iter().filter(|signal| !is_ignored(*signal)) {
            // SAFETY: the handler reads and writes atomic numbers and makes system calls that are async-signal-safe.
            let registered = unsafe { signal_hook::low_level::register(signal, move || handle(signal)) };
            // Without it the signal does what it does by default.
            let _ = registered;
        }
    });
}

/// Whether whoever started us wants it so (`nohup`).
fn is_ignored(signal: i32) -> bool {
    let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: asks only, and writes to a live variable of that type; a zeroed one is valid.
    unsafe {
        libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) == 0
            && action.assume_init().sa_sigaction == libc::SIG_IGN
    }
}

fn handle(signal: i32) {
    RECEIVED.store(signal, Ordering::Release);
    let now = milliseconds();
    let first = FIRST.compare_exchange(0, now + 1, Ordering::AcqRel, Ordering::Acquire).err();
    let again = first.is_some_and(|first| now + 1 > first + TWICE);
    let mut busy = false;
    let mut passed = false;
    for slot in &CHILDREN {
        let child = slot.load(Ordering::Acquire);
        busy |= child == EXPECTED;
        if child > 0 {
            passed = true;
            send((child & !OWN) as i32, if again && child & OWN == 0 { libc::SIGKILL } else { signal });
        }
    }
    if !passed && (!busy || again) && !CLEANED_UP.load(Ordering::Acquire) {
        let _ = signal_hook::low_level::emulate_default_handler(signal);
    }
}

fn send(pid: i32, signal: i32) {
    // SAFETY: takes numbers. The process is a child that nobody has waited for, so that the number is still its own.
    unsafe { libc::kill(pid, signal) };
}

fn milliseconds() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes to a live variable.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as u64 * 1000 + now.tv_nsec as u64 / 1_000_000
}
