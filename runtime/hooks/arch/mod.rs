//! The processor: another one is another file here, with the same names in it.

#[cfg(target_arch = "x86_64")]
#[macro_use]
mod x86_64;

#[cfg(target_arch = "x86_64")]
pub use x86_64::*;
