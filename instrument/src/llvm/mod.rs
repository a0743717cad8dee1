//! The only place that talks to LLVM: finding the library, and safe handles over its C interface.
//!
//! `inkwell` covers contexts, modules, passes and target machines; it does not wrap inlined-at chains and panics on metadata
//! operands, so instruction-level reading goes through the handles in [`ir`].

pub mod diagnostics;
pub mod ir;
mod load;

pub use load::{LoadedLlvm, MAJORS, REQUIRED_MAJOR, how_to_use, load};
