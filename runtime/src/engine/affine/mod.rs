//! Affine loops: runs of iterations that access words at constant strides, a block of iterations at a time.
//!
//! `normalise` rolls, unrolls and cuts accesses until their words advance evenly. `dependence` says which word another
//! access of the run had shortly before, and `reuse` keeps that from run to run. `drive` decides what is done in
//! blocks; `find` looks for a block's words (`positions`, `block`), `depths` and `offsets` say how deep they are before
//! it and how much deeper in it, `holes` what becomes of free places, and `together` does the block. `asked` is for
//! what a part of a run does not know.

pub mod asked;
mod block;
pub mod dependence;
mod depths;
pub mod drive;
mod find;
mod holes;
mod normalise;
mod offsets;
mod positions;
mod reuse;
pub mod scratch;
#[cfg(test)]
mod tests;
mod together;
