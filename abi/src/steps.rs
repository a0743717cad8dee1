//! Dataflow steps: what a segment that was instrumented for the values model says about the identities of values.
//!
//! A step is an [`Item`] whose kind is a [`StepKind`]. Steps name *registers*: each scalar of the function that may
//! carry a tracked value has one (a vector or aggregate has one per scalar), numbered from 1 in its activation; 0
//! stands for anything untracked. Memory steps take their address as all items do: a word of the record plus `offset`.
//!
//! | field | memory steps | other steps |
//! |---|---|---|
//! | `word`, `offset` | the address | `word`: the dynamic operand, if any |
//! | `offset` | | low half: register `dst`, high half: register `a` |
//! | `stride` | low half: the register loaded or stored | low half: register `b`, high half: register `c` |
//! | `size` | bytes of the access | bytes of the result, or of what is joined or cut out |
//! | `flags` | | [`ValueOp`] |
//!
//! ```text
//!           63        32 31         0
//!   offset | a          | dst        |   of steps without an address
//!   stride | c          | b          |
//! ```
//!
//! `%3 = add i32 %1, %2` of the registers 1, 2 and 3 is an [`StepKind::Op`] with `offset` 0x0000000100000003, `stride`
//! 0x0000000000000002, `size` 4 and `flags` 20, which is [`ValueOp::Add`].

use crate::{Item, OpClass};

numbered! {
    /// What a step does. Numbers start above those of [`ItemKind`](crate::ItemKind).
    pub enum StepKind: u8 {
        /// `dst` = identity of the bytes at the address.
        Load = 32,
        /// The bytes at the address get the identity of the register.
        Store = 33,
        /// An instruction reads `a`, `b`, `c` at once; results in `dst` and, with `lanes` = 2, `dst + 1` (of `word2`
        /// bytes).
        Op = 34,
        /// `a` is used as a branch condition, index or address: one read, no result.
        Escape = 35,
        /// `dst` = `a`.
        Move = 36,
        /// `dst` = `a` if control came from predecessor `lanes`, which `word` tells. Neighbouring ones happen at once.
        PhiMove = 37,
        /// `dst` = `a` if bit `lanes` of `word` is set, else `b`.
        Select = 38,
        /// `a` is argument `lanes` of the call that ends the segment. `flags` = 1: passed through `...`.
        Argument = 39,
        /// The segment ends by a call of its `callee`, whatever it is if that is not named.
        Call = 40,
        /// That call has returned.
        Returned = 41,
        /// `dst` = result `lanes` of the call.
        Result = 42,
        /// `dst` = parameter `lanes` of the function.
        Parameter = 43,
        /// `a` is result `lanes` of the function.
        Return = 44,
        /// Argument `lanes` is a copy of the `size` bytes at the address.
        BytesArgument = 45,
        /// Parameter `lanes` is a copy, at the address.
        BytesParameter = 46,
        /// `dst` = `a * b + c`: one instruction, or instead of it the two steps that follow.
        Fma = 47,
        /// `dst` = `a` in another width or number format: an instruction where values have their natural sizes, else a
        /// move.
        Convert = 48,
        /// `dst` = the `size` bytes of `a` followed by the `lanes` bytes of `b`.
        Join = 49,
        /// `dst` = `size` bytes of `a` from byte `lanes` on.
        Part = 50,
        /// `dst` = register `a` + `word`, if that is below `lanes`.
        Pick = 51,
        /// Register `dst` + `word` = `a`, if `word` is below `lanes`.
        Put = 52,
        /// An argument of the call that ends the segment is the address of `size` bytes, or of nobody knows how many
        /// (0).
        PointerArgument = 53,
    }
}

impl StepKind {
    /// Whether the address fields are an address, so that `offset` holds no registers.
    #[must_use]
    pub fn has_address(self) -> bool {
        matches!(self, Self::Load | Self::Store | Self::BytesArgument | Self::BytesParameter | Self::PointerArgument)
    }
}

/// Registers of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    /// Receives the result.
    pub dst: u32,
    /// First operand.
    pub a: u32,
    /// Second operand.
    pub b: u32,
    /// Third operand.
    pub c: u32,
}

impl Registers {
    /// The `offset` and `stride` fields of a step without address.
    #[must_use]
    pub fn packed(self) -> (i64, i64) {
        let pair = |low: u32, high: u32| (u64::from(high) << 32 | u64::from(low)) as i64;
        (pair(self.dst, self.a), pair(self.b, self.c))
    }

    /// Takes them from a step without address.
    #[inline]
    #[must_use]
    pub fn from_item(item: &Item) -> Self {
        let (offset, stride) = (item.offset as u64, item.stride as u64);
        Self { dst: offset as u32, a: (offset >> 32) as u32, b: stride as u32, c: (stride >> 32) as u32 }
    }
}

/// Register of a step with an address.
#[inline]
#[must_use]
pub fn accessed_register(item: &Item) -> u32 {
    item.stride as u64 as u32
}

/// The highest register that a step names, with those that follow it by the step's own count.
#[must_use]
pub fn highest_register(item: &Item) -> u32 {
    let Some(kind) = StepKind::from_number(item.kind) else { return 0 };
    if kind.has_address() {
        return accessed_register(item);
    }
    let Registers { dst, a, b, c } = Registers::from_item(item);
    let behind = match kind {
        StepKind::Pick => a.saturating_add(u32::from(item.lanes)),
        StepKind::Put => dst.saturating_add(u32::from(item.lanes)),
        StepKind::Op => dst.saturating_add(1),
        _ => 0,
    };
    dst.max(a).max(b).max(c).max(behind)
}

macro_rules! value_ops {
    ($($op:ident = $number:literal, $name:literal, $class:ident;)*) => {
        numbered! {
            /// Instructions of the values model.
            #[allow(missing_docs)]
            pub enum ValueOp: u8 { $($op = $number,)* }
        }

        impl ValueOp {
            /// The name in event listings.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$op => $name,)* }
            }

            /// What it counts as.
            #[must_use]
            pub fn class(self) -> OpClass {
                match self { $(Self::$op => OpClass::$class,)* }
            }
        }
    };
}

value_ops! {
    FpAdd = 1, "add", FpAdd;
    FpSub = 2, "sub", FpAdd;
    FpNeg = 3, "neg", FpAdd;
    FpMul = 4, "mul", FpMul;
    FpDiv = 5, "div", FpDiv;
    FpRem = 6, "rem", FpDiv;
    Fma = 7, "fma", FpFma;
    Sqrt = 8, "sqrt", FpSpecial;
    Pow = 9, "pow", FpSpecial;
    Exp = 10, "exp", FpSpecial;
    Log = 11, "log", FpSpecial;
    Sin = 12, "sin", FpSpecial;
    Cos = 13, "cos", FpSpecial;
    Special = 14, "special", FpSpecial;
    FpAbs = 15, "abs", FpAdd;
    Round = 16, "round", FpAdd;
    Add = 20, "add", Int;
    Sub = 21, "sub", Int;
    Mul = 22, "mul", Int;
    Div = 23, "div", Int;
    Rem = 24, "rem", Int;
    Shl = 25, "shl", Int;
    Shr = 26, "shr", Int;
    And = 27, "and", Int;
    Or = 28, "or", Int;
    Xor = 29, "xor", Int;
    Abs = 30, "abs", Int;
    Bits = 31, "bits", Int;
    DivMod = 32, "divmod", Int;
    Convert = 33, "cvt", Int;
    Eq = 40, "eq", Compare;
    Ne = 41, "ne", Compare;
    Lt = 42, "lt", Compare;
    Le = 43, "le", Compare;
    Gt = 44, "gt", Compare;
    Ge = 45, "ge", Compare;
    Unordered = 46, "unordered", Compare;
    Max = 47, "max", Compare;
    Min = 48, "min", Compare;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_and_operations_are_found_by_their_numbers() {
        for kind in StepKind::ALL {
            assert_eq!(StepKind::from_number(*kind as u8), Some(*kind));
        }
        assert_eq!(StepKind::from_number(31), None);
        assert_eq!(StepKind::from_number(54), None);
        assert_eq!(ValueOp::from_number(ValueOp::DivMod as u8), Some(ValueOp::DivMod));
        assert_eq!(ValueOp::from_number(0), None);
    }
}
