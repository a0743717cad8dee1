//! Splits addresses into `root + sum of (index * scale) + constant`, so that accesses with the same variable part share
//! one word of a record.
//!
//! Arithmetic is modulo 2^64 on both sides (indices of the pointer's width), so the decomposition is exact.

use crate::llvm::ir::{Layout, Opcode, TypeKind, Value};

/// The variable part of an address: equal parts mean a constant distance.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Shape<'m> {
    pub root: Value<'m>,
    /// (64-bit index, bytes per unit), sorted by first appearance.
    pub terms: Vec<(Value<'m>, i64)>,
}

/// How deep chains of address computations are followed; enough for any real code, and a bound on compile time.
const MAX_STEPS: usize = 32;
/// More variable indices than this share a word too rarely to be worth comparing.
const MAX_TERMS: usize = 4;

/// Variable part and constant offset of an address.
#[must_use]
pub fn decompose<'m>(layout: Layout<'m>, address: Value<'m>) -> (Shape<'m>, i64) {
    let mut root = address;
    let mut terms = Vec::new();
    let mut offset = 0i64;
    for _ in 0..MAX_STEPS {
        if root.any_opcode() != Some(Opcode::GetElementPtr) || !root.ty().is_pointer() {
            break;
        }
        let mut new_terms = terms.clone();
        let Some(constant) = gep(layout, root, &mut new_terms) else { break };
        if new_terms.len() > MAX_TERMS {
            break;
        }
        offset = offset.wrapping_add(constant);
        terms = new_terms;
        root = root.operand(0);
    }
    (Shape { root, terms }, offset)
}

/// Adds the variable indices of an address computation to `terms`; gives its constant part.
fn gep<'m>(layout: Layout<'m>, gep: Value<'m>, terms: &mut Vec<(Value<'m>, i64)>) -> Option<i64> {
    let (indices, mut offset) = gep_parts(layout, gep)?;
    for (index, scale) in indices {
        let (variable, constant) = split_constant(index);
        if terms.contains(&(variable, scale)) {
            // A second use of the same index does not occur in canonical code; giving up keeps shapes comparable.
            return None;
        }
        terms.push((variable, scale));
        offset = offset.wrapping_add(constant.wrapping_mul(scale));
    }
    Some(offset)
}

/// The variable indices of an address computation with the bytes per unit of each, and its constant part; `None` unless
/// all indices are 64 bits wide: narrower ones are sign-extended by the computation, so they are not exact sums.
#[must_use]
pub fn gep_parts<'m>(layout: Layout<'m>, gep: Value<'m>) -> Option<(Vec<(Value<'m>, i64)>, i64)> {
    let mut ty = gep.gep_source_type();
    let (mut terms, mut offset) = (Vec::new(), 0i64);
    for position in 1..gep.operands() {
        let index = gep.operand(position);
        if position > 1 && ty.kind() == TypeKind::Struct {
            let field = u32::try_from(index.as_signed_constant()?).ok()?;
            offset = offset.wrapping_add(layout.field_offset(ty, field) as i64);
            ty = ty.struct_field(field);
            continue;
        }
        if position > 1 {
            ty = ty.element();
        }
        if ty.contains_scalable() {
            return None;
        }
        let scale = layout.alloc_size(ty) as i64;
        match index.as_signed_constant() {
            Some(constant) => offset = offset.wrapping_add(constant.wrapping_mul(scale)),
            None if index.ty().int_width() == Some(64) => terms.push((index, scale)),
            None => return None,
        }
    }
    Some((terms, offset))
}

/// `x + c` as `(x, c)`, through chains of additions.
#[must_use]
pub fn split_constant<'m>(index: Value<'m>) -> (Value<'m>, i64) {
    let mut variable = index;
    let mut constant = 0i64;
    for _ in 0..MAX_STEPS {
        if !variable.is_instruction() {
            break;
        }
        let sums = match variable.opcode() {
            Opcode::Add => true,
            Opcode::Or => is_sum(variable),
            _ => false,
        };
        let Some(added) = sums.then(|| variable.operand(1).as_signed_constant()).flatten() else { break };
        constant = constant.wrapping_add(added);
        variable = variable.operand(0);
    }
    (variable, constant)
}

/// Whether an `or` is a sum: no bit is set on both sides. Older compilers leave it to be found out.
#[must_use]
pub fn is_sum(or: Value<'_>) -> bool {
    let constant = or.operand(1).as_signed_constant().filter(|c| *c >= 0);
    let fits = |c: i64| c == 0 || 64 - c.leading_zeros() <= low_zeros(or.operand(0), MAX_ZEROS_DEPTH);
    or.is_disjoint_or() || constant.is_some_and(fits)
}

/// How deep a value is followed to see how many of its lowest bits are zero.
const MAX_ZEROS_DEPTH: u32 = 4;

/// How many of a value's lowest bits are known to be zero.
fn low_zeros(value: Value<'_>, depth: u32) -> u32 {
    if let Some(constant) = value.as_signed_constant() {
        return constant.trailing_zeros();
    }
    if depth == 0 || !value.is_instruction() {
        return 0;
    }
    let of = |operand: u32| low_zeros(value.operand(operand), depth - 1);
    match value.opcode() {
        Opcode::Add | Opcode::Sub => of(0).min(of(1)),
        Opcode::And => of(0).max(of(1)),
        Opcode::Mul => (of(0) + of(1)).min(64),
        Opcode::Shl => {
            let shift = value.operand(1).as_signed_constant().and_then(|s| u32::try_from(s).ok());
            (of(0) + shift.unwrap_or(0)).min(64)
        }
        Opcode::Phi => {
            // A counter has as many as its start and its step.
            let next = |v: Value| {
                let is_next = v.is_instruction() && v.opcode() == Opcode::Add && v.operand(0) == value;
                low_zeros(if is_next { v.operand(1) } else { v }, depth - 1)
            };
            value.incoming().into_iter().map(|(v, _)| next(v)).min().unwrap_or(0)
        }
        _ => 0,
    }
}
