//! Threads that replay slices, of whichever ring.
//!
//! Takes jobs; whoever brings one waits while as many as there are threads wait already. Starts its threads with the
//! first job. Where the system gives no threads, who brings a job does it.

use std::{sync::OnceLock, thread::JoinHandle};

use crossbeam::channel::{Sender, bounded};

/// A job; it reports its failures itself and does not panic.
pub type Job = Box<dyn FnOnce() + Send>;

/// Threads at most: each has a stack of its own, and what comes before slices and after them is done by one.
const MOST: usize = 8;

pub struct Pool {
    workers: usize,
    started: OnceLock<Started>,
}

struct Started {
    jobs: Sender<Job>,
    threads: Vec<JoinHandle<()>>,
}

impl Pool {
    #[must_use]
    pub fn new(workers: usize) -> Self {
        Self { workers: workers.clamp(1, MOST), started: OnceLock::new() }
    }

    /// Threads that there are at most.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.workers
    }

    pub fn submit(&self, job: Job) {
        let started = self.started.get_or_init(|| self.start());
        if started.threads.is_empty() {
            return job();
        }
        // Threads end with the channel.
        let _ = started.jobs.send(job);
    }

    fn start(&self) -> Started {
        let (jobs, work) = bounded::<Job>(self.workers);
        let thread = |_| {
            let work = work.clone();
            std::thread::Builder::new().spawn(move || work.into_iter().for_each(|job| job())).ok()
        };
        Started { jobs, threads: (0..self.workers).map_while(thread).collect() }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let Some(Started { jobs, threads }) = self.started.take() else { return };
        drop(jobs);
        for thread in threads {
            // Jobs do not panic.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };

    use super::*;

    #[test]
    fn all_jobs_are_done_before_the_pool_is_gone() {
        let (pool, done) = (Pool::new(2), Arc::new(AtomicUsize::new(0)));
        for _ in 0..50 {
            let done = done.clone();
            pool.submit(Box::new(move || _ = done.fetch_add(1, Ordering::Relaxed)));
        }
        drop(pool);
        assert_eq!(done.load(Ordering::Relaxed), 50);
    }

    #[test]
    fn there_is_a_thread_at_least_and_eight_at_most() {
        assert_eq!([0, 1, 8, 9].map(|workers| Pool::new(workers).workers()), [1, 1, 8, 8]);
    }
}
