//! Variables on the stack: which lie in memory, what debug information calls them, and where their lives start.
//!
//! Takes a function, gives a [`StackVariable`] per slot of fixed size and per argument that the caller copied onto the
//! stack. Slots whose variable debug information does not tell have no name.

use std::collections::HashMap;

use crate::{
    classify::Classifier,
    frames::{DebugInfo, Form, Variable},
    llvm::{
        debug_record::DebugRecordKind,
        ir::{Opcode, Value},
    },
};

/// A variable that has an address.
#[derive(Clone, Debug)]
pub struct StackVariable<'m> {
    pub size: u64,
    pub variable: Option<Variable<'m>>,
    /// Its life starts at markers in the code, and not where the slot is made.
    pub has_scope: bool,
}

/// By slot (`alloca`, or parameter passed by value): its variable.
pub struct StackVariables<'m>(HashMap<Value<'m>, StackVariable<'m>>);

impl<'m> StackVariables<'m> {
    #[must_use]
    pub fn from_function(function: Value<'m>, classifier: &Classifier<'m>, debug: &mut DebugInfo<'m>) -> Self {
        let blocks = function.blocks();
        let mut slots = HashMap::new();
        for instruction in blocks.first().into_iter().flat_map(|b| b.instructions()) {
            if let Some(size) = classifier.slot_size(instruction) {
                let has_scope = is_marked(instruction, "llvm.lifetime.start");
                slots.insert(instruction, StackVariable { size, variable: None, has_scope });
            }
        }
        for (index, parameter) in function.parameters().into_iter().enumerate() {
            if let Some(ty) = function.parameter_byval(index as u32, classifier.attributes.byval) {
                let size = classifier.layout.store_size(ty);
                slots.insert(parameter, StackVariable { size, variable: None, has_scope: false });
            }
        }
        if !slots.is_empty() && function.subprogram().is_some() {
            name(function, &mut slots, debug);
        }
        Self(slots)
    }

    #[must_use]
    pub fn get(&self, slot: Value<'m>) -> Option<&StackVariable<'m>> {
        self.0.get(&slot)
    }
}

/// Whether an intrinsic of this name is called with the slot.
#[must_use]
pub fn is_marked(slot: Value<'_>, intrinsic: &str) -> bool {
    slot.users().into_iter().any(|user| {
        user.is_instruction()
            && user.opcode() == Opcode::Call
            && user.callee().intrinsic_name().is_some_and(|n| n.starts_with(intrinsic))
    })
}

/// Finds the variables that debug records say lie in the slots. Records of tracked assignments do not tell their slots
/// through LLVM's C interface; the compiler driver has clang leave none.
fn name<'m>(function: Value<'m>, slots: &mut HashMap<Value<'m>, StackVariable<'m>>, debug: &mut DebugInfo<'m>) {
    let instructions = function.blocks().into_iter().flat_map(|b| b.instructions());
    for record in instructions.flat_map(|i| i.debug_records()) {
        let slot = match record.kind() {
            DebugRecordKind::Declare => record.value(),
            // The variable is what lies there, not a pointer to it.
            DebugRecordKind::Value => {
                record.value().filter(|slot| slots.contains_key(slot) && debug.form(record) == Form::Address)
            }
            _ => None,
        };
        if let Some(known) = slot.and_then(|slot| slots.get_mut(&slot))
            && known.variable.is_none()
            && let Some(variable) = record.variable()
        {
            known.variable = debug.variable(variable);
        }
    }
}
