//! The only place that talks to LLVM: finding the library, and safe handles over its C interface.
//!
//! `inkwell` covers contexts, modules, passes and target machines; it does not wrap inlined-at chains and panics on
//! metadata operands, so instruction-level reading goes through the handles in `ir`.

pub(crate) mod debug_record;
pub(crate) mod diagnostics;
pub(crate) mod find;
pub(crate) mod ir;
mod kinds;
pub(crate) mod lifetimes;
mod load;
#[expect(deprecated, reason = "older LLVMs have the functions that the newest advises against")]
mod older;
mod raw;

pub use find::{NEWEST, OLDEST};
pub use load::{LoadedLlvm, NoLlvm, load, major};
