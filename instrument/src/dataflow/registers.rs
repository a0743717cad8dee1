//! Gives a register to every scalar of a function that may carry a tracked value.
//!
//! What can carry one: parameters, loads, results of calls, and whatever is computed from them. Constants, stack
//! addresses and what is made of them alone never do, so that loop counters cost nothing.

use std::collections::{HashMap, HashSet};

use crate::llvm::ir::{Layout, Opcode, Type, TypeKind, Value};

/// One scalar of a value, as it lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    pub offset: u64,
    pub size: u32,
}

/// Scalars of one value; wider vectors and aggregates are not followed.
const MAX_SLOTS: usize = 64;

/// The scalars of a type in memory order; `None` if it cannot be followed.
#[must_use]
pub fn slots<'m>(layout: Layout<'m>, ty: Type<'m>) -> Option<Vec<Slot>> {
    let mut out = Vec::new();
    flatten(layout, ty, 0, &mut out).then_some(out)
}

fn flatten<'m>(layout: Layout<'m>, ty: Type<'m>, offset: u64, out: &mut Vec<Slot>) -> bool {
    if out.len() > MAX_SLOTS {
        return false;
    }
    match ty.kind() {
        TypeKind::Void => true,
        TypeKind::Struct => (0..ty.fields())
            .all(|field| flatten(layout, ty.struct_field(field), offset + layout.field_offset(ty, field), out)),
        TypeKind::Array => elements(layout, ty.element(), ty.array_len(), offset, out),
        TypeKind::Vector => elements(layout, ty.element(), u64::from(ty.lanes()), offset, out),
        TypeKind::Integer | TypeKind::Pointer => scalar(layout, ty, offset, out),
        _ if ty.is_floating() => scalar(layout, ty, offset, out),
        _ => false,
    }
}

fn elements<'m>(layout: Layout<'m>, element: Type<'m>, count: u64, offset: u64, out: &mut Vec<Slot>) -> bool {
    let step = layout.alloc_size(element);
    count <= MAX_SLOTS as u64 && (0..count).all(|i| flatten(layout, element, offset + i * step, out))
}

fn scalar<'m>(layout: Layout<'m>, ty: Type<'m>, offset: u64, out: &mut Vec<Slot>) -> bool {
    let size = layout.store_size(ty);
    // Larger integers exist; no processor computes with them as one value.
    let Some(size) = u32::try_from(size).ok().filter(|s| (1..=64).contains(s)) else { return false };
    out.push(Slot { offset, size });
    out.len() <= MAX_SLOTS
}

/// Where the scalars of a field or element start among those of the whole, by the indices of an `extractvalue`.
#[must_use]
pub fn slot_of_path<'m>(layout: Layout<'m>, ty: Type<'m>, path: &[u32]) -> Option<usize> {
    let Some((&index, rest)) = path.split_first() else { return Some(0) };
    let (before, inner) = if ty.kind() == TypeKind::Struct {
        let before = (0..index).map(|f| slots(layout, ty.struct_field(f)).map(|s| s.len())).sum::<Option<usize>>()?;
        (before, ty.struct_field(index))
    } else {
        (slots(layout, ty.element())?.len() * index as usize, ty.element())
    };
    Some(before + slot_of_path(layout, inner, rest)?)
}

/// Registers of one function.
pub struct RegisterFile<'m> {
    first: HashMap<Value<'m>, u32>,
    next: u32,
}

impl<'m> RegisterFile<'m> {
    /// Finds what may carry a tracked value. `sources` tells instructions that produce one out of nothing; `carried`
    /// gives the operands whose values an instruction passes on or computes with.
    #[must_use]
    pub fn of_function(
        function: Value<'m>,
        layout: Layout<'m>,
        is_source: impl Fn(Value<'m>) -> bool,
        carried: impl Fn(Value<'m>) -> Vec<Value<'m>>,
    ) -> Self {
        let has_slots = |v: Value<'m>| slots(layout, v.ty()).is_some_and(|s| !s.is_empty());
        let mut tracked: HashSet<Value> = function.parameters().into_iter().filter(|p| has_slots(*p)).collect();
        let candidates: Vec<(Value, Vec<Value>)> = function
            .blocks()
            .into_iter()
            .flat_map(|b| b.instructions())
            .filter(|i| i.opcode() != Opcode::Alloca && has_slots(*i))
            .map(|i| (i, carried(i)))
            .collect();
        tracked.extend(candidates.iter().map(|(i, _)| *i).filter(|i| is_source(*i)));
        loop {
            let before = tracked.len();
            for (instruction, operands) in &candidates {
                if operands.iter().any(|o| tracked.contains(o)) {
                    tracked.insert(*instruction);
                }
            }
            if tracked.len() == before {
                break;
            }
        }
        let mut file = Self { first: HashMap::new(), next: 1 };
        let in_order = function.parameters().into_iter().chain(candidates.into_iter().map(|(i, _)| i));
        for value in in_order.filter(|v| tracked.contains(v)) {
            let count = slots(layout, value.ty()).map_or(0, |s| s.len()) as u32;
            let first = file.spare(count);
            file.first.insert(value, first);
        }
        file
    }

    /// Register of a value's scalar, 0 if it is never tracked.
    #[must_use]
    pub fn id(&self, value: Value<'m>, slot: usize) -> u32 {
        self.first.get(&value).map_or(0, |first| first + slot as u32)
    }

    #[must_use]
    pub fn has(&self, value: Value<'m>) -> bool {
        self.first.contains_key(&value)
    }

    /// Registers for what has no name in the function.
    pub fn spare(&mut self, count: u32) -> u32 {
        let first = self.next;
        self.next += count;
        first
    }
}
