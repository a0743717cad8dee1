//! Parse, run, print the error chain, exit.

use std::process::ExitCode;
use std::{io, thread};

use dmdprof_runtime::abi::INHERITED_FROM;

/// What the command line's parser and the demanglers need at most, and more. `ulimit -s` may leave less.
const STACK: usize = 8 << 20;

fn main() -> ExitCode {
    enlarge_descriptor_table();
    match thread::Builder::new().name("main".into()).stack_size(STACK).spawn(dmdprof::cli::main) {
        // A panic has said what there is to say.
        Ok(main) => main.join().unwrap_or(ExitCode::from(101)),
        // No threads to be had: as far as the stack that there is will do.
        Err(_) => dmdprof::cli::main(),
    }
}

/// Makes room for the number that the channel's descriptor gets. While there is one thread that takes no time; later
/// the system waits for all processors first (12 ms of a run of 28).
fn enlarge_descriptor_table() {
    // Where the limit is lower, the channel gets a lower number, and there is room for that.
    let _ = rustix::io::fcntl_dupfd_cloexec(io::stdin(), INHERITED_FROM.cast_signed());
}
