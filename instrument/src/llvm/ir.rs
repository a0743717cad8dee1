//! Handles over what a module consists of: values, blocks, types, debug nodes.
//!
//! A handle borrows its module (`'m`). What a handle may name is erased in one place only, [`split_edges`], which takes
//! the module for itself, so that no handle from before can be used behind it. Many functions of LLVM take values of
//! one kind and do not look whether it is; the wrappers here look, and panic where a caller mixed them up. Numbers of
//! LLVM's enums are looked up in [`super::kinds`].

mod block;
mod builder;
mod call;
mod debug;
mod function;
mod handle;
mod module;
mod types;
mod value;

pub use super::kinds::{AtomicOperation, IntPredicate, Linkage, Opcode, RealPredicate, TypeKind};
pub use block::{Edge, split_edges};
pub use builder::Builder;
pub use debug::Nodes;
pub use handle::{AttributeKind, Block, Metadata, ModuleHandle, Type, Value};
pub use types::Layout;
