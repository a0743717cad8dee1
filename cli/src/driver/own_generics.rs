//! Has rustc compile a crate's own instances of the standard library's generic code, for the values model.
//!
//! Unoptimised crates share instances with the standard library: a vector's growth, a hash table's rehashing. Those are
//! machine code without hooks, so that values which they move would lose their identities. The option is not stable; a
//! stable rustc takes it with `RUSTC_BOOTSTRAP`. Takes the command of a compilation, gives it the option, or says what
//! is missing.

use std::process::{Command, Stdio};

/// Tells a compilation not to use the standard library's instances.
const OPTION: &str = "-Zshare-generics=no";
/// Makes stable compilers take unstable options.
const UNSTABLE: (&str, &str) = ("RUSTC_BOOTSTRAP", "1");

/// `rustc` makes a command of the same compiler, to ask whether it knows the option.
pub fn demand(compilation: &mut Command, rustc: impl FnOnce() -> Command) {
    if is_known(rustc()) {
        compilation.env(UNSTABLE.0, UNSTABLE.1).arg(OPTION);
    } else {
        eprintln!(
            "dmdprof: warning: this rustc does not know {OPTION}: code that the crate shares with the standard library has no \
             hooks, so that values lose their identities when a collection grows (a Vec with enough capacity does not)"
        );
    }
}

fn is_known(mut rustc: Command) -> bool {
    rustc.env(UNSTABLE.0, UNSTABLE.1).args([OPTION, "--print=sysroot"]);
    rustc.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    rustc.status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_compiler_that_takes_the_option_gets_it() {
        let words = |compiler: &'static str| {
            let mut compilation = Command::new("rustc");
            demand(&mut compilation, || Command::new(compiler));
            compilation.get_args().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(words("true"), [OPTION]);
        assert!(words("false").is_empty());
        assert!(words("/nonexistent").is_empty());
    }
}
