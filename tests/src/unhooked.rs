//! Programs without hooks, as tests run them under the emulator.
//!
//! Takes sources in `tests/binary`; gives programs for this processor and for others, and something to work on that is
//! the same on every machine. Fails by name where an emulator or a compiler is missing.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::programs::{Compiler, Program};
use crate::tool::{in_tests, require, succeed};

/// The emulator of a processor.
///
/// # Panics
/// If it is not installed.
pub fn emulator_of(processor: &str) -> PathBuf {
    require(format!("qemu-{processor}").as_ref(), "install the package qemu-user")
}

/// Sees to it that programs for this processor can be emulated.
///
/// # Panics
/// If they cannot.
pub fn emulator() {
    let _ = emulator_of("x86_64");
}

/// A program of one file, for this processor.
#[must_use]
pub fn build(source: &str, compiler: &Compiler) -> PathBuf {
    let mut program = Program::from_source(in_tests("binary").join(source));
    program.libraries.push("-lpthread".into());
    program.build(compiler)
}

/// A program of one file, for another processor, in a directory.
///
/// # Panics
/// If there is no compiler for it, or it fails.
#[must_use]
pub fn build_for(processor: &str, source: &str, directory: &Path) -> PathBuf {
    let compiler = format!("{processor}-linux-gnu-gcc");
    let compiler = require(compiler.as_ref(), "install the packages gcc-*-linux-gnu and libc6-dev-*-cross");
    let program = directory.join(processor);
    let mut command = Command::new(compiler);
    command.args(["-O2", "-gdwarf-4", "-o"]).arg(&program).arg(in_tests("binary").join(source));
    succeed(&mut command);
    program
}

/// Writes the file `text`: words in no order.
///
/// # Panics
/// If it cannot be written.
pub fn write_text(directory: &Path, words: usize) {
    let mut state = 1u32;
    let mut word = || {
        state = state.wrapping_mul(1_103_515_245).wrapping_add(12345);
        format!("{} ", ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"][(state as usize >> 16) % 6])
    };
    let text: String = (0..words).map(|_| word()).collect();
    std::fs::write(directory.join("text"), text).expect("it can be written");
}
