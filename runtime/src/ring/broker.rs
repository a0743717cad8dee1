//! Gives the channel to processes of the run that cannot open it by themselves.
//!
//! The environment names the channel by a path that only the user's own processes may open, and may be cleared. Such a
//! process asks its ancestors over a socket (`hooks/broker.rs`), of which there are two: one without a place in the
//! file system, which other roots reach, and one with a place, which other network namespaces reach. Whoever asks gets
//! the channel if it descends from this process, and nobody else does: the kernel says who asks. Some only say that
//! they will not be measured; they are counted by name.

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::io::{self, IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg, sockopt};

use crate::abi::{BROKER_ASK, BROKER_DIRECTORY, BROKER_NAME, BROKER_REPORT, BROKER_STARTED, unmeasured};

/// A process says at once what it wants, or not at all.
const PATIENCE: Duration = Duration::from_secs(1);
/// Generations between this process and one that asks.
const FARTHEST: usize = 64;

/// Why a program is not measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unmeasured {
    /// It has more rights than its user.
    Rights,
    /// There is no emulator of its processor.
    Processor,
    /// Its file has no name that an emulator could open.
    NoFile,
}

impl Unmeasured {
    fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            unmeasured::RIGHTS => Some(Self::Rights),
            unmeasured::PROCESSOR => Some(Self::Processor),
            unmeasured::NO_FILE => Some(Self::NoFile),
            _ => None,
        }
    }
}

/// Programs that are not measured, by reason and name: how many processes of each.
pub type Missing = BTreeMap<(Unmeasured, String), u64>;

/// Serves requests until it is dropped.
#[derive(Debug)]
pub struct Broker {
    ended: Arc<AtomicBool>,
    missing: Arc<Mutex<Missing>>,
    threads: Vec<(SocketAddr, JoinHandle<()>)>,
}

impl Broker {
    pub(super) fn start(channel: Arc<File>) -> io::Result<Self> {
        let name = format!("{BROKER_NAME}{}", std::process::id());
        let mut broker = Self { ended: Arc::default(), missing: Arc::default(), threads: Vec::new() };
        broker.listen(SocketAddr::from_abstract_name(&name)?, &channel)?;
        // The place may be taken or not be writable; then other network namespaces have no way to ask.
        if let Ok(address) = Self::place(&name)
            && broker.listen(address.clone(), &channel).is_err_and(|error| error.kind() != io::ErrorKind::AddrInUse)
        {
            let _ = address.as_pathname().map(fs::remove_file);
        }
        Ok(broker)
    }

    /// An address with a place in the file system, which what a killed run has left does not take.
    fn place(name: &str) -> io::Result<SocketAddr> {
        let path = Path::new(BROKER_DIRECTORY).join(name);
        let address = SocketAddr::from_pathname(&path)?;
        let is_left = UnixStream::connect(&path).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
        if is_left { fs::remove_file(&path).map(|()| address) } else { Ok(address) }
    }

    fn listen(&mut self, address: SocketAddr, channel: &Arc<File>) -> io::Result<()> {
        let listener = UnixListener::bind_addr(&address)?;
        if let Some(path) = address.as_pathname() {
            // Whoever asks is looked at, not who may ask.
            fs::set_permissions(path, Permissions::from_mode(0o666))?;
        }
        let (is_over, names, channel) = (Arc::clone(&self.ended), Arc::clone(&self.missing), Arc::clone(channel));
        let thread = std::thread::Builder::new().spawn(move || {
            for asked in listener.incoming() {
                if is_over.load(Ordering::Acquire) {
                    break;
                }
                // Who hangs up or sends nonsense gets nothing.
                let _ = asked.and_then(|asked| answer(&asked, &channel, &names));
            }
        })?;
        self.threads.push((address, thread));
        Ok(())
    }

    /// Programs of which it was said that they would not be measured.
    #[must_use]
    pub fn missing(&self) -> Missing {
        self.missing.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Release);
        for (address, thread) in self.threads.drain(..) {
            // Ends the thread's wait.
            if UnixStream::connect_addr(&address).is_ok() {
                // It computes nothing that could be lost.
                let _ = thread.join();
            }
            // Nobody misses it if it is gone already.
            let _ = address.as_pathname().map(fs::remove_file);
        }
    }
}

fn answer(mut asked: &UnixStream, channel: &File, missing: &Mutex<Missing>) -> io::Result<()> {
    asked.set_read_timeout(Some(PATIENCE))?;
    let pid = sockopt::socket_peercred(asked)?.pid.as_raw_nonzero().get();
    if !descends(pid) {
        return Ok(());
    }
    let mut wish = [0];
    asked.read_exact(&mut wish)?;
    match wish {
        [BROKER_ASK] => {
            let descriptors = [channel.as_fd()];
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
            let mut message = SendAncillaryBuffer::new(&mut space);
            message.push(SendAncillaryMessage::ScmRights(&descriptors));
            sendmsg(asked, &[IoSlice::new(&wish)], &mut message, SendFlags::NOSIGNAL)?;
        }
        [BROKER_REPORT] => add(missing, Unmeasured::Rights, program(pid)),
        [BROKER_STARTED] => {
            let mut head = [0; 2];
            asked.read_exact(&mut head)?;
            let mut name = vec![0; head[1].into()];
            asked.read_exact(&mut name)?;
            if let Some(why) = Unmeasured::from_byte(head[0]) {
                add(missing, why, String::from_utf8_lossy(&name).into_owned());
                asked.write_all(&wish)?;
            }
        }
        _ => {}
    }
    Ok(())
}

fn add(missing: &Mutex<Missing>, why: Unmeasured, name: String) {
    *missing.lock().unwrap_or_else(PoisonError::into_inner).entry((why, name)).or_default() += 1;
}

/// The name of a process's program.
fn program(pid: i32) -> String {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm"));
    name.map_or_else(|_| "unknown".into(), |name| name.trim_end().to_owned())
}

/// Whether a process descends from this one.
fn descends(mut pid: i32) -> bool {
    let own = std::process::id().cast_signed();
    for _ in 0..FARTHEST {
        match parent(pid) {
            Some(parent) if parent == own => return true,
            Some(parent) if parent > 1 => pid = parent,
            _ => return false,
        }
    }
    false
}

fn parent(pid: i32) -> Option<i32> {
    // "pid (name) state parent ..."; the name may hold anything.
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}
