//! Parse, run, print the error chain, exit.

use std::process::ExitCode;
use std::thread;

/// What the command line's parser and the demanglers need at most, and more. `ulimit -s` may leave less.
const STACK: usize = 8 << 20;

fn main() -> ExitCode {
    match thread::Builder::new().name("main".into()).stack_size(STACK).spawn(dmdprof::cli::main) {
        // A panic has said what there is to say.
        Ok(main) => main.join().unwrap_or(ExitCode::from(101)),
        // No threads to be had: as far as the stack that there is will do.
        Err(_) => dmdprof::cli::main(),
    }
}
