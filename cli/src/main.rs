//! Parse, run, print the error chain, exit.

use std::process::ExitCode;

fn main() -> ExitCode {
    dmdprof::cli::main()
}
