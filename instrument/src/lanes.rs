//! The lanes of a vector access: where each lies, and which take part.
//!
//! Takes the operands that say so, in any of the forms that LLVM and processors have for them; gives, when code is
//! emitted, a word per lane or a word with a bit per lane.

use crate::llvm::ir::{Builder, ModuleHandle, Value};

/// Where the lanes lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Places<'m> {
    /// Where a vector of pointers says.
    Pointers(Value<'m>),
    /// At `base + scale * index`, with one of a vector of indices.
    Indexed { base: Value<'m>, index: Value<'m>, scale: i64 },
    /// One, at a distance from `base`.
    Apart { base: Value<'m>, distance: Value<'m> },
    /// Side by side, so many bytes each.
    Row { base: Value<'m>, size: u64 },
    /// Side by side, those that take part and no others.
    Packed { base: Value<'m>, size: u64, mask: Mask<'m> },
}

/// Which lanes take part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mask<'m> {
    /// Those whose bit is set, in a vector of bits or an integer.
    Bits(Value<'m>),
    /// Those whose highest bit is set, in a vector cut into so many lanes.
    Signs(Value<'m>, u32),
}

impl<'m> Mask<'m> {
    #[must_use]
    pub fn value(self) -> Value<'m> {
        match self {
            Self::Bits(value) | Self::Signs(value, _) => value,
        }
    }

    /// A word with a bit per lane.
    #[must_use]
    pub fn word(self, builder: &Builder<'m>) -> Value<'m> {
        match self {
            Self::Bits(value) => builder.word(value),
            Self::Signs(value, lanes) => builder.word(builder.signs(value, lanes)),
        }
    }

    /// 1 if a lane takes part, else 0.
    fn bit(self, lane: u32, builder: &Builder<'m>, module: ModuleHandle<'m>) -> Value<'m> {
        let shifted = builder.shift_right(self.word(builder), module.constant(64, lane.into()));
        builder.and(shifted, module.constant(64, 1))
    }
}

impl<'m> Places<'m> {
    /// The address of a lane, as a word.
    #[must_use]
    pub fn word(self, lane: u32, builder: &Builder<'m>, module: ModuleHandle<'m>) -> Value<'m> {
        let constant = |number: u64| module.constant(64, number);
        match self {
            Self::Pointers(pointers) => builder.word(builder.lane(pointers, lane)),
            Self::Indexed { base, index, scale } => {
                let index = builder.signed_word(builder.lane(index, lane));
                builder.add(builder.word(base), builder.multiply(index, constant(scale as u64)))
            }
            Self::Apart { base, distance } => builder.add(builder.word(base), builder.signed_word(distance)),
            Self::Row { base, size } => builder.add(builder.word(base), constant(size * u64::from(lane))),
            Self::Packed { base, size, mask } => {
                let before = builder.and(mask.word(builder), constant((1 << lane) - 1));
                let ty = module.function_type(module.int_type(64), &[module.int_type(64)]);
                let count = builder.call(ty, module.declare("llvm.ctpop.i64", ty), &[before]);
                builder.add(builder.word(base), builder.multiply(count, constant(size)))
            }
        }
    }

    /// The address of a lane, as a word; 0 if the lane does not take part.
    #[must_use]
    pub fn word_if(self, mask: Mask<'m>, lane: u32, builder: &Builder<'m>, module: ModuleHandle<'m>) -> Value<'m> {
        builder.multiply(self.word(lane, builder, module), mask.bit(lane, builder, module))
    }
}
