//! Waiting on words of shared memory, as the operating system does it.

use dmdprof_abi::protocol;

/// The operating system below [`protocol`].
pub struct Futex {
    /// Longest sleep of one wait.
    pub timeout: std::time::Duration,
}

impl protocol::System for Futex {
    type Word = std::sync::atomic::AtomicU32;

    fn fence(&self) {
        std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
    }

    fn wait(&self, word: &Self::Word, expected: u32) -> protocol::Woken {
        use rustix::io::Errno;
        use rustix::thread::futex;
        let timeout = rustix::fs::Timespec {
            tv_sec: i64::try_from(self.timeout.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(self.timeout.subsec_nanos()),
        };
        // Not private: the other side is another process.
        match futex::wait(word, futex::Flags::empty(), expected, Some(&timeout)) {
            Err(Errno::TIMEDOUT) => protocol::Woken::TimedOut,
            _ => protocol::Woken::Again,
        }
    }

    fn wake(&self, word: &Self::Word) {
        use rustix::thread::futex;
        // Fails only for words outside memory.
        let _ = futex::wake(word, futex::Flags::empty(), i32::MAX.unsigned_abs());
    }
}
