//! Which field of which type each access of a function goes to, as far as debug information tells.
//!
//! Takes a function, and the address and bytes of an access; gives its [`Spot`]. A type is known of what a variable is
//! (on the stack, global), and of what a variable or a field points to; addresses computed from such a pointer stay in
//! its type. So the type is the one that the source declares; a cast without a variable or field of the new type is not
//! seen. Nothing is known without debug information, and in structures whose layout depends on a value (Rust's
//! enumerations with data).

use std::collections::HashMap;

use crate::{
    address::{gep_parts, split_constant},
    frames::{DebugInfo, Form},
    llvm::{
        debug_record::DebugRecordKind,
        ir::{Layout, Metadata, Opcode, Value},
    },
    types::Spot,
};

/// How far a value is followed to what it was made from.
const DEEP: u32 = 6;
/// Address computations in a row.
const MAX_STEPS: usize = 32;

/// Types of what lies at the addresses of a function.
#[derive(Default)]
pub struct Fields<'m> {
    /// By pointer, if debug information knows the function: type of what it points to.
    pointees: Option<HashMap<Value<'m>, Option<Metadata<'m>>>>,
}

impl<'m> Fields<'m> {
    #[must_use]
    pub fn from_function(function: Value<'m>, debug: &mut DebugInfo<'m>) -> Self {
        if function.subprogram().is_none() {
            return Self::default();
        }
        let mut pointees: HashMap<Value, Option<Metadata>> = HashMap::new();
        let instructions = function.blocks().into_iter().flat_map(|b| b.instructions());
        for record in instructions.flat_map(|i| i.debug_records()) {
            let is_variable = matches!(record.kind(), DebugRecordKind::Declare | DebugRecordKind::Value);
            if !is_variable {
                continue;
            }
            let (Some(value), Some(variable)) = (record.value(), record.variable()) else { continue };
            if !value.ty().is_pointer() || value.is_constant() {
                continue;
            }
            let Some(ty) = debug.variable_type(variable) else { continue };
            let form = debug.form(record);
            let found = match (record.kind(), form) {
                (DebugRecordKind::Declare, Form::Plain) | (_, Form::Address) => Some(ty),
                (DebugRecordKind::Value, Form::Plain) => debug.types.pointee(ty, 0),
                (DebugRecordKind::Value, Form::Part(offset)) => debug.types.pointee(ty, offset),
                _ => None,
            };
            let Some(found) = found else { continue };
            let known = pointees.entry(value).or_default();
            // Of several variables the first with a structure tells most.
            if known.is_none_or(|known| !debug.types.has_fields(known) && debug.types.has_fields(found)) {
                *known = Some(found);
            }
        }
        Self { pointees: Some(pointees) }
    }

    /// What an access to `size` bytes at an address goes to.
    pub fn spot(
        &mut self,
        address: Value<'m>,
        size: u64,
        layout: Layout<'m>,
        debug: &mut DebugInfo<'m>,
    ) -> Option<Spot<'m>> {
        self.pointees.is_some().then(|| self.look(address, size, layout, debug, DEEP)).flatten()
    }

    fn look(
        &mut self,
        address: Value<'m>,
        size: u64,
        layout: Layout<'m>,
        debug: &mut DebugInfo<'m>,
        deep: u32,
    ) -> Option<Spot<'m>> {
        let (mut at, mut offset, mut steps) = (address, 0i64, Vec::new());
        for _ in 0..MAX_STEPS {
            if let Some(ty) = self.pointee(at, layout, debug, deep)
                && let Some(spot) = debug.types.spot(ty, offset, &steps, size)
            {
                return Some(spot);
            }
            if is_cast(at) {
                at = at.operand(0);
                continue;
            }
            if at.any_opcode() != Some(Opcode::GetElementPtr) || !at.ty().is_pointer() {
                return None;
            }
            let (terms, constant) = gep_parts(layout, at)?;
            offset = offset.wrapping_add(constant);
            for (index, scale) in terms {
                offset = offset.wrapping_add(split_constant(index).1.wrapping_mul(scale));
                steps.push(scale);
            }
            at = at.operand(0);
        }
        None
    }

    /// Type of what a value points to.
    fn pointee(
        &mut self,
        value: Value<'m>,
        layout: Layout<'m>,
        debug: &mut DebugInfo<'m>,
        deep: u32,
    ) -> Option<Metadata<'m>> {
        if let Some(known) = self.pointees.as_ref()?.get(&value) {
            return *known;
        }
        if value.is_global_variable() {
            return debug.global_type(value);
        }
        if deep == 0 || !value.is_instruction() {
            return None;
        }
        // Stands for "not known" while it is being found: cycles of phis end here.
        self.pointees.as_mut()?.insert(value, None);
        let found = match value.opcode() {
            Opcode::Load => {
                let leaf = self.look(value.operand(0), 8, layout, debug, deep - 1).and_then(|spot| spot.leaf);
                leaf.and_then(|leaf| debug.types.pointee(leaf, 0))
            }
            Opcode::Phi => {
                let sources: Vec<Value> = value.incoming().into_iter().map(|(source, _)| source).collect();
                self.common(value, &sources, layout, debug, deep - 1)
            }
            Opcode::BitCast if is_cast(value) => self.pointee(value.operand(0), layout, debug, deep - 1),
            Opcode::Select => self.common(value, &[value.operand(1), value.operand(2)], layout, debug, deep - 1),
            _ => None,
        };
        self.pointees.as_mut()?.insert(value, found);
        found
    }

    /// The type of all that a value may be, if it is the same. A source may be computed from another by whole elements,
    /// also from the value itself.
    fn common(
        &mut self,
        value: Value<'m>,
        sources: &[Value<'m>],
        layout: Layout<'m>,
        debug: &mut DebugInfo<'m>,
        deep: u32,
    ) -> Option<Metadata<'m>> {
        let (mut known, mut all_steps): (Option<Metadata>, Vec<i64>) = (None, Vec::new());
        let mut pending = Vec::new();
        for &source in sources.iter().filter(|source| !source.is_constant() || source.is_global_variable()) {
            let found = match self.pointee(source, layout, debug, deep) {
                Some(found) => Some(found),
                None => {
                    let (root, steps) = root(source, layout)?;
                    all_steps.extend(steps);
                    let found = if root == value { None } else { self.pointee(root, layout, debug, deep) };
                    if root != value && found.is_none() {
                        pending.push(root);
                    }
                    found
                }
            };
            if found.is_some() && known.is_some_and(|known| Some(known) != found) {
                return None;
            }
            known = known.or(found);
        }
        // What depends on the value itself (the next element of a list) is known if the value is; and if then it is
        // something else, neither is.
        for &source in &pending {
            self.pointees.as_mut()?.remove(&source);
            self.pointees.as_mut()?.insert(value, known);
            if self.pointee(source, layout, debug, deep) != known {
                self.pointees.as_mut()?.extend(pending.iter().map(|source| (*source, None)));
                return None;
            }
        }
        let size = known.map(|ty| debug.types.size(ty)).and_then(|size| i64::try_from(size).ok())?;
        (size > 0 && all_steps.iter().all(|step| step % size == 0)).then_some(known).flatten()
    }
}

/// Whether it is a pointer by another name: older compilers gave pointers types.
fn is_cast(value: Value<'_>) -> bool {
    value.any_opcode() == Some(Opcode::BitCast) && value.ty().is_pointer() && value.operand(0).ty().is_pointer()
}

/// What an address is computed from, and the steps of the computation.
fn root<'m>(address: Value<'m>, layout: Layout<'m>) -> Option<(Value<'m>, Vec<i64>)> {
    let (mut at, mut steps) = (address, Vec::new());
    for _ in 0..MAX_STEPS {
        if is_cast(at) {
            at = at.operand(0);
            continue;
        }
        if at.any_opcode() != Some(Opcode::GetElementPtr) || !at.ty().is_pointer() {
            return Some((at, steps));
        }
        let (terms, constant) = gep_parts(layout, at)?;
        steps.extend(terms.into_iter().map(|(_, scale)| scale).chain([constant]));
        at = at.operand(0);
    }
    None
}
