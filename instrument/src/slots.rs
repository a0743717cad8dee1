//! Variables on the stack: which lie in memory, what debug information calls them, and where their lives start.
//!
//! Takes a function, gives a [`StackVariable`] per slot of fixed size and per argument that the caller copied onto the stack. Slots whose
//! variable debug information does not tell have no name.

use std::collections::HashMap;

use crate::{
    classify::Classifier,
    frames::{DebugInfo, Variable},
    llvm::ir::{DebugRecordKind, Opcode, Value},
};

/// A variable that has an address.
#[derive(Clone, Debug)]
pub struct StackVariable {
    pub size: u64,
    pub variable: Option<Variable>,
    /// Its life starts at markers in the code, and not where the slot is made.
    pub has_scope: bool,
}

/// By slot (`alloca`, or parameter passed by value): its variable.
pub struct StackVariables(HashMap<Value, StackVariable>);

impl StackVariables {
    #[must_use]
    pub fn of(function: Value, classifier: &Classifier, debug: &mut DebugInfo) -> Self {
        let blocks = function.blocks();
        let mut slots = HashMap::new();
        let mut order = Vec::new();
        for instruction in blocks.first().into_iter().flat_map(|b| b.instructions()) {
            if let Some(size) = classifier.slot_size(instruction) {
                let has_scope = is_marked(instruction, "llvm.lifetime.start");
                slots.insert(instruction, StackVariable { size, variable: None, has_scope });
                order.push(instruction);
            }
        }
        for (index, parameter) in function.parameters().into_iter().enumerate() {
            if let Some(ty) = function.parameter_byval(index as u32, classifier.attributes.byval) {
                let size = classifier.layout.store_size(ty);
                slots.insert(parameter, StackVariable { size, variable: None, has_scope: false });
                order.push(parameter);
            }
        }
        if !slots.is_empty() && function.subprogram().is_some() {
            name(function, &order, &mut slots, debug);
        }
        Self(slots)
    }

    #[must_use]
    pub fn get(&self, slot: Value) -> Option<&StackVariable> {
        self.0.get(&slot)
    }
}

/// Whether an intrinsic of this name is called with the slot.
#[must_use]
pub fn is_marked(slot: Value, intrinsic: &str) -> bool {
    slot.users().into_iter().any(|user| {
        user.is_instruction()
            && user.opcode() == Opcode::LLVMCall
            && user.callee().intrinsic_name().is_some_and(|n| n.starts_with(intrinsic))
    })
}

/// Finds the variables that debug records say lie in the slots.
fn name(function: Value, order: &[Value], slots: &mut HashMap<Value, StackVariable>, debug: &mut DebugInfo) {
    // Records of tracked assignments give the slot in their text only.
    let mut by_text: HashMap<String, Value> = HashMap::new();
    for (number, slot) in order.iter().enumerate() {
        if slot.name().is_empty() {
            slot.set_name(&format!("dmdprof.slot.{number}"));
        }
        by_text.insert(slot.name(), *slot);
    }
    let instructions = function.blocks().into_iter().flat_map(|b| b.instructions());
    for record in instructions.flat_map(|i| i.debug_records()) {
        let slot = match record.kind() {
            DebugRecordKind::LLVMDbgRecordDeclare => record.value(),
            DebugRecordKind::LLVMDbgRecordValue => record.value().filter(|slot| {
                // The variable is what lies there, not a pointer to it.
                slots.contains_key(slot) && record.text().contains("DW_OP_deref")
            }),
            DebugRecordKind::LLVMDbgRecordAssign => address_in(&record.text()).and_then(|n| by_text.get(n).copied()),
            DebugRecordKind::LLVMDbgRecordLabel => None,
        };
        if let Some(known) = slot.and_then(|slot| slots.get_mut(&slot))
            && known.variable.is_none()
            && let Some(variable) = record.variable()
        {
            known.variable = debug.variable(variable);
        }
    }
}

/// Name of the address of `#dbg_assign(value, !variable, expression, !id, ptr %name, expression, !location)`.
fn address_in(text: &str) -> Option<&str> {
    let rest = text.rsplit_once("ptr %")?.1;
    let (quoted, end) = if let Some(rest) = rest.strip_prefix('"') { (rest, '"') } else { (rest, ',') };
    Some(quoted.split(end).next().unwrap_or(quoted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_an_assignment_is_found() {
        let text = "#dbg_assign(i32 %x, !12, !DIExpression(), !13, ptr %buffer.i, !DIExpression(), !14)";
        assert_eq!(address_in(text), Some("buffer.i"));
        assert_eq!(address_in("#dbg_assign(i1 undef, !1, !2, !3, ptr %\"a b\", !4, !5)"), Some("a b"));
        assert_eq!(address_in("#dbg_assign(i1 undef, !1, !2, !3, ptr undef, !4, !5)"), None);
    }
}
