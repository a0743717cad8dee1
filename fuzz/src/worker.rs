//! The process that runs a target on one input after the other, and may be killed by any of them.
//!
//! Takes a target, a corpus and numbers; writes the number at hand where the parent sees it, so that the parent knows
//! what killed it.

use std::fs::OpenOptions;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Context;
use clap::Args;
use dmdprof_runtime::engine::AllocationFailure;
use memmap2::MmapMut;

use crate::{ProgramArg, corpus, find, mutate};

/// Memory that an input may make a target ask for.
const MEMORY: u64 = 4 << 30;

#[derive(Args)]
pub struct WorkerArgs {
    pub target: String,
    #[arg(long)]
    pub seed: u64,
    #[arg(long)]
    pub corpus: PathBuf,
    /// File of 8 bytes for the number at hand
    #[arg(long)]
    pub state: PathBuf,
    #[arg(long)]
    pub from: u64,
    #[arg(long)]
    pub to: u64,
    #[command(flatten)]
    pub program: ProgramArg,
}

/// Runs the inputs `from` to `to`, without the last.
///
/// # Errors
/// When there is no such target, or the files cannot be used.
pub fn run(args: &WorkerArgs) -> anyhow::Result<()> {
    args.program.settle()?;
    let target = find(&args.target)?;
    let seeds = corpus::read(&args.corpus)?;
    let state = OpenOptions::new().read(true).write(true).open(&args.state).context("cannot open the state")?;
    // SAFETY: the parent made the file, has 8 bytes in it, and only reads.
    let mut map = unsafe { MmapMut::map_mut(&state) }?;
    // SAFETY: the mapping is page-aligned and stays until the end of this function.
    let at_hand = unsafe { AtomicU64::from_ptr(map.as_mut_ptr().cast()) };
    limit_memory();
    for number in args.from..args.to {
        at_hand.store(number, Ordering::Relaxed);
        let input = mutate::input(&seeds, args.seed, number);
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| (target.run)(&input))) {
            // The engine says so when the system gives no memory, and its users leave what they have.
            payload.downcast::<AllocationFailure>().map_or_else(|other| resume_unwind(other), drop);
        }
    }
    at_hand.store(args.to, Ordering::Relaxed);
    Ok(())
}

fn limit_memory() {
    let limit = libc::rlimit { rlim_cur: MEMORY, rlim_max: MEMORY };
    // SAFETY: plain data. Where it fails, the machine's own limit holds.
    unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) };
}
