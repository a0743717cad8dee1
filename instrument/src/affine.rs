//! Loops of one block in which every address advances by the same number of bytes from each iteration to the next.
//!
//! Takes a block that branches to itself, gives how its addresses advance and how its iterations can be counted after
//! it has ended. Refuses (`None`) whatever is not sums and products of loop counters and values that the loop does not
//! change. All arithmetic is modulo 2^64 on values of that width, so it is exact; narrower counters, which may wrap,
//! are refused.

use crate::{
    address::{gep_parts, is_sum},
    llvm::ir::{Block, Layout, Opcode, Type, Value},
};

/// How deep address computations are followed.
const MAX_STEPS: u32 = 32;
/// Steps by more than this might pass all of 2^64 in a run, so that distance no longer tells the number of iterations.
const LARGEST_COUNTER_STEP: u64 = 1 << 20;

/// A loop of one block that is left by one edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SelfLoop<'m> {
    pub block: Block<'m>,
    /// Where control goes when the loop ends.
    pub exit: Block<'m>,
}

impl<'m> SelfLoop<'m> {
    /// The loop that the block is, if it is one.
    #[must_use]
    pub fn from_block(block: Block<'m>) -> Option<Self> {
        let end = block.terminator().filter(|end| end.opcode() == Opcode::Br)?;
        match block.successors()[..] {
            [a, b] if a == block && b != block => Some(Self { block, exit: b }),
            [a, b] if b == block && a != block => Some(Self { block, exit: a }),
            _ => None,
        }
        .filter(|_| end.operands() == 3)
    }

    fn is_invariant(self, value: Value<'m>) -> bool {
        !value.is_instruction() || value.block() != self.block
    }

    /// The loop's phis.
    fn phis(self) -> impl Iterator<Item = Value<'m>> {
        self.block.instructions().into_iter().take_while(|i| i.opcode() == Opcode::Phi)
    }

    /// What a phi is in the next iteration.
    #[must_use]
    pub fn next(self, phi: Value<'m>) -> Option<Value<'m>> {
        phi.incoming().into_iter().find(|(_, from)| *from == self.block).map(|(value, _)| value)
    }

    /// How the iterations are counted.
    #[must_use]
    pub fn counter(self, layout: Layout<'m>) -> Counter<'m> {
        let steps = Steps { looped: self, layout };
        let of_phi = |phi: Value<'m>| {
            let mut outside = phi.incoming().into_iter().filter(|(_, from)| *from != self.block);
            let (start, _) = outside.next()?;
            let step = steps.step_of(phi)?.as_constant()?;
            let usable = (1..=LARGEST_COUNTER_STEP).contains(&step.unsigned_abs()) && outside.next().is_none();
            usable.then_some(Counter::Distance { phi, start, step })
        };
        let is_shift =
            |c: &Counter| matches!(c, Counter::Distance { step, .. } if step.unsigned_abs().is_power_of_two());
        let counters: Vec<Counter> = self.phis().filter_map(of_phi).collect();
        counters.iter().copied().find(is_shift).or(counters.first().copied()).unwrap_or(Counter::Own)
    }
}

/// How the number of iterations is found out when the loop has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter<'m> {
    /// From how far a counter of the loop has come.
    Distance { phi: Value<'m>, start: Value<'m>, step: i64 },
    /// By a counter that must be added.
    Own,
}

/// What is added from each iteration to the next: a constant, and multiples of 64-bit values that the loop does not
/// change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Step<'m> {
    pub constant: i64,
    pub terms: Vec<(Value<'m>, i64)>,
}

impl<'m> Step<'m> {
    #[must_use]
    pub fn as_constant(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }

    fn of_value(value: Value<'m>) -> Option<Self> {
        match value.as_signed_constant() {
            Some(constant) => Some(Self { constant, terms: Vec::new() }),
            None if value.ty().int_width() == Some(64) => Some(Self { constant: 0, terms: vec![(value, 1)] }),
            None => None,
        }
    }

    fn plus(mut self, other: &Self) -> Self {
        self.constant = self.constant.wrapping_add(other.constant);
        for &(value, factor) in &other.terms {
            match self.terms.iter_mut().find(|(known, _)| *known == value) {
                Some((_, sum)) => *sum = sum.wrapping_add(factor),
                None => self.terms.push((value, factor)),
            }
        }
        self.terms.retain(|(_, factor)| *factor != 0);
        self
    }

    fn times(mut self, factor: i64) -> Self {
        self.constant = self.constant.wrapping_mul(factor);
        self.terms.iter_mut().for_each(|(_, f)| *f = f.wrapping_mul(factor));
        self.terms.retain(|(_, f)| *f != 0);
        self
    }
}

/// Finds the steps of a loop's values.
#[derive(Clone, Copy)]
pub struct Steps<'m> {
    pub looped: SelfLoop<'m>,
    pub layout: Layout<'m>,
}

impl<'m> Steps<'m> {
    /// How a pointer or 64-bit integer advances.
    #[must_use]
    pub fn step_of(self, value: Value<'m>) -> Option<Step<'m>> {
        self.walk(value, None, MAX_STEPS)
    }

    /// What `next` adds to the phi that it is the next value of.
    fn of_phi(self, phi: Value<'m>, depth: u32) -> Option<Step<'m>> {
        let next = self.looped.next(phi)?;
        self.walk(next, Some(phi), depth)
    }

    /// With `origin`: how far a value is from that phi, if it is that phi and values that do not change. Without: how
    /// far it advances.
    fn walk(self, value: Value<'m>, origin: Option<Value<'m>>, depth: u32) -> Option<Step<'m>> {
        let depth = depth.checked_sub(1)?;
        if origin == Some(value) {
            return Some(Step::default());
        }
        if !is_word(value.ty()) {
            return None;
        }
        if self.looped.is_invariant(value) {
            return if origin.is_some() { None } else { Some(Step::default()) };
        }
        let again = |v: Value<'m>| self.walk(v, origin, depth);
        match value.opcode() {
            Opcode::Phi if origin.is_none() => self.of_phi(value, depth),
            Opcode::Add => self.sum(value, origin, 1, depth),
            Opcode::Or if is_sum(value) => self.sum(value, origin, 1, depth),
            Opcode::Sub => self.sum(value, origin, -1, depth),
            Opcode::Mul if origin.is_none() => self.product(value, depth),
            Opcode::Shl if origin.is_none() => {
                let shift = u32::try_from(value.operand(1).as_signed_constant()?).ok().filter(|s| *s < 63)?;
                Some(again(value.operand(0))?.times(1 << shift))
            }
            Opcode::PtrToInt | Opcode::IntToPtr | Opcode::BitCast => again(value.operand(0)),
            Opcode::GetElementPtr => {
                let mut step = again(value.operand(0))?;
                let (terms, constant) = gep_parts(self.layout, value)?;
                for (index, scale) in terms {
                    let index = match origin {
                        Some(_) if self.looped.is_invariant(index) => Step::of_value(index)?,
                        Some(_) => return None,
                        None => again(index)?,
                    };
                    step = step.plus(&index.times(scale));
                }
                // A constant part is a distance, and does not advance.
                let constant = if origin.is_some() { constant } else { 0 };
                Some(step.plus(&Step { constant, terms: Vec::new() }))
            }
            _ => None,
        }
    }

    /// `a + b` or `a - b`: with an origin, one of them holds it and the other does not change.
    fn sum(self, value: Value<'m>, origin: Option<Value<'m>>, sign: i64, depth: u32) -> Option<Step<'m>> {
        let (a, b) = (value.operand(0), value.operand(1));
        let again = |v: Value<'m>| self.walk(v, origin, depth);
        if origin.is_none() {
            return Some(again(a)?.plus(&again(b)?.times(sign)));
        }
        if self.looped.is_invariant(b) {
            return Some(again(a)?.plus(&Step::of_value(b)?.times(sign)));
        }
        if sign > 0 && self.looped.is_invariant(a) {
            return Some(again(b)?.plus(&Step::of_value(a)?));
        }
        None
    }

    /// A product of something that advances by a constant, and something that does not change.
    fn product(self, value: Value<'m>, depth: u32) -> Option<Step<'m>> {
        let (mut moving, mut fixed) = (value.operand(0), value.operand(1));
        if self.looped.is_invariant(moving) {
            std::mem::swap(&mut moving, &mut fixed);
        }
        if !self.looped.is_invariant(fixed) {
            return None;
        }
        let step = self.walk(moving, None, depth)?;
        match fixed.as_signed_constant() {
            Some(factor) => Some(step.times(factor)),
            None => Some(Step::of_value(fixed)?.times(step.as_constant()?)),
        }
    }
}

/// Whether a value has the width of an address.
fn is_word(ty: Type<'_>) -> bool {
    ty.int_width() == Some(64) || ty.is_pointer()
}
