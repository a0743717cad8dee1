//! What the engine does most, compiled once per instruction set.
//!
//! Takes a stack, or the order of what is on it, which knows the instruction set of this processor, and does one
//! operation with it. Everything below such an operation is inlined into it, and so is compiled for the same
//! instruction set. Between operations there is a call, so that what is large and seldom, or long, is there once and
//! not wherever it is used: that is a third of the code, and a fifth of the time to compile it.

use super::{
    access::{Access, Stream},
    access_tag::AccessTag,
    affine::{asked, drive},
    batch::Batch,
    boundary::{Boundary, MissRequest, RequestedLoop},
    cell::Cell,
    isa::Isa,
    order::Order,
    report::Reports,
    resolve::Resolver,
    slice::end_slice,
    stack::{Full, Short, Stack},
};

macro_rules! per_isa {
    ($($(#[$doc:meta])* fn $name:ident $([$flag:ident])?, $v1:ident, $v3:ident =
        |$this:ident: $This:ident $(<$C:ident>)? $(, $arg:ident: $type:ty)*| -> $out:ty { $body:expr })*
    ) => {$(
        #[inline(never)]
        fn $v1<$($C: Cell,)? $(const $flag: bool)?>($this: &mut $This$(<$C>)? $(, $arg: $type)*) -> $out { $body }

        #[cfg(target_arch = "x86_64")]
        #[inline(never)]
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
        fn $v3<$($C: Cell,)? $(const $flag: bool)?>($this: &mut $This$(<$C>)? $(, $arg: $type)*) -> $out { $body }

        impl$(<$C: Cell>)? $This$(<$C>)? {
            $(#[$doc])*
            #[inline(always)]
            pub fn $name<$(const $flag: bool)?>(&mut self $(, $arg: $type)*) -> $out {
                match self.isa.0 {
                    // SAFETY: the processor has an instruction set that is `Present`, with all its features.
                    #[cfg(target_arch = "x86_64")]
                    Isa::Avx2 => unsafe { $v3::<$($C,)? $($flag)?>(self $(, $arg)*) },
                    _ => $v1::<$($C,)? $($flag)?>(self $(, $arg)*),
                }
            }
        }
    )*};
}

per_isa! {
    /// See [`Stack::short_access_here`].
    fn short_access [LOAD], short_access_v1, short_access_v3 =
        |stack: Stack<C>, addr: u64, len: u64, out: &mut Reports| -> Short {
            stack.short_access_here::<LOAD>(addr, len, out)
        }

    /// See [`Stack::access_here`].
    fn access [LOAD], access_v1, access_v3 =
        |stack: Stack<C>, addr: u64, len: u64, out: &mut Reports| -> Result<(), Full> {
            stack.access_here::<LOAD>(addr, len, out)
        }

    /// See [`Batch::run`].
    fn batch, batch_v1, batch_v3 =
        |stack: Stack<C>, accesses: &[Access], labels: &[AccessTag], out: &mut Reports| -> usize {
            Batch { stack, out }.run(accesses, labels)
        }

    /// See [`drive::affine`].
    fn affine, affine_v1, affine_v3 =
        |stack: Stack<C>, streams: &[Stream], labels: &[AccessTag], count: u64, done: u64, out: &mut Reports| -> u64 {
            drive::affine(stack, streams, labels, count, done, out)
        }

    /// See [`Resolver::resolve`].
    fn resolve, resolve_v1, resolve_v3 =
        |stack: Stack<C>, asks: &[MissRequest], out: &mut Reports| -> () { Resolver { stack, out }.resolve(asks) }

    /// See [`asked::resolve_loop`].
    fn resolve_loop, resolve_loop_v1, resolve_loop_v3 =
        |stack: Stack<C>, asked: RequestedLoop, asks: &[MissRequest], strides: &[i64], out: &mut Reports| -> () {
            asked::resolve_loop(stack, asked, asks, strides, out)
        }

    /// See [`Stack::take_over_here`].
    fn take_over, take_over_v1, take_over_v3 =
        |stack: Stack<C>, part: &Boundary| -> Result<(), Full> { stack.take_over_here(part) }

    /// See [`end_slice`].
    fn end_slice, end_slice_v1, end_slice_v3 =
        |stack: Stack<C>| -> Boundary { end_slice(stack) }

    /// See [`Order::sink_far_here`].
    fn sink_far [LOAD], sink_far_v1, sink_far_v3 =
        |order: Order, position: u64, len: u64, out: &mut Reports| -> () {
            order.sink_far_here::<LOAD>(position, len, out)
        }

    /// See [`Order::fill_holes_here`].
    fn fill_holes, fill_holes_v1, fill_holes_v3 =
        |order: Order, len: u64| -> () { order.fill_holes_here(len) }

    /// See [`Order::leave_hole_here`].
    fn leave_hole, leave_hole_v1, leave_hole_v3 =
        |order: Order, position: u64, len: u64| -> () { order.leave_hole_here(position, len) }

    /// See [`Stack::renumber_here`].
    fn renumber, renumber_v1, renumber_v3 =
        |stack: Stack<C>, gap: u64, len: u64| -> Result<(), Full> { stack.renumber_here(gap, len) }
}
