//! Where a program's stack begins, whatever is around the program.
//!
//! The system puts the program's path, its environment and its arguments above the stack, so that their lengths decide
//! in which lines the program's variables lie. Takes them, gives variables that fill up: all text together becomes a
//! multiple of a page, and all pointers to it, with what the kernel adds, a multiple of [`POINTERS`]. The stack then
//! begins at the same place in its line, and text at the same place in its page, with any environment, directory and
//! kernel. What of this cannot be known is left as it is: then lines vary by a few, and bytes not at all.
//!
//! ```text
//! high   path of the program
//!        NAME=value ... DMDPROF_FILL_1=xxxx
//!        arguments
//!        alignment, random bytes, name of the processor
//!        kernel's vector, pointers to the environment, pointers to the arguments, their number
//! low    the stack begins
//! ```

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::process::Command;

/// Has programs start so.
pub const FIXED_VARIABLE: &str = "DMDPROF_FIXED_STACK";
const PAGE: usize = 4096;
/// The largest line of a cache, in bytes.
pub(super) const LINE: usize = 128;
/// Where in such a line a stack begins that is filled up.
pub(super) const START: usize = 64;
/// Pointers in a line.
const POINTERS: usize = LINE / size_of::<usize>();

/// Adds the variables that fill up.
pub fn fix(command: &mut Command) {
    let environment = environment(command);
    let arguments = command.get_args().map(OsStr::len).chain([command.get_program().len()]);
    let of_arguments: Vec<usize> = arguments.collect();
    let text = text(&of_arguments, command.get_program().len(), &environment);
    for (name, value) in fill(text, environment.len() + of_arguments.len() + kernel_words()) {
        command.env(name, value);
    }
}

/// What the program will find.
fn environment(command: &Command) -> BTreeMap<OsString, OsString> {
    let mut all: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => all.insert(name.into(), value.into()),
            None => all.remove(name),
        };
    }
    all
}

/// Bytes, each text with the zero at its end.
fn text(arguments: &[usize], path: usize, environment: &BTreeMap<OsString, OsString>) -> usize {
    let of_arguments: usize = arguments.iter().map(|length| length + 1).sum();
    let of_environment: usize = environment.iter().map(|(name, value)| name.len() + value.len() + 2).sum();
    path + 1 + of_arguments + of_environment
}

/// Words of the vector that the kernel gives each program.
fn kernel_words() -> usize {
    fs::read("/proc/self/auxv").map_or(0, |vector| vector.len() / size_of::<usize>())
}

/// Variables that make bytes a multiple of a page and pointers one of [`POINTERS`]; at least one, for the bytes.
fn fill(text: usize, pointers: usize) -> Vec<(String, String)> {
    let count = POINTERS - pointers % POINTERS;
    let mut all: Vec<(String, String)> = (1..=count).map(|n| (format!("DMDPROF_FILL_{n}"), String::new())).collect();
    let more: usize = all.iter().map(|(name, _)| name.len() + 2).sum();
    let missing = (text + more).next_multiple_of(PAGE) - text - more;
    all[0].1 = "x".repeat(missing);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_pointers_are_filled_up() {
        for (bytes, pointers) in [(0, 0), (1, 1), (4095, 15), (4096, 16), (5000, 31), (100_000, 7)] {
            let all = fill(bytes, pointers);
            let more: usize = all.iter().map(|(name, value)| name.len() + value.len() + 2).sum();
            assert_eq!(((bytes + more) % PAGE, (pointers + all.len()) % POINTERS), (0, 0), "{bytes} {pointers}");
        }
    }

    #[test]
    fn what_the_program_finds_is_counted() {
        let mut command = Command::new("/bin/true");
        let of_command: BTreeMap<OsString, OsString> = [("A".into(), "bc".into())].into();
        // /bin/true, A=bc, xyz and /bin/true again, each with a zero.
        assert_eq!(text(&[3, 9], 9, &of_command), 10 + 5 + 4 + 10);
        command.env_remove("PATH").env("B", "");
        let found = environment(&command);
        assert!(!found.contains_key(OsStr::new("PATH")) && found.contains_key(OsStr::new("B")));
    }
}
