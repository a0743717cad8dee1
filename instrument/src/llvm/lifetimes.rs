//! Has the markers of lifetimes name the stack slots themselves, as the newest LLVM has when it reads older bitcode.
//!
//! Takes a module that was read, changes what its markers point to: older compilers gave pointers types, and marked a
//! slot by a cast of its address. Leaves alone what does not lead to a slot.

use inkwell::{llvm_sys::core::LLVMSetOperand, module::Module};

use super::ir::{ModuleHandle, Opcode, Value};

/// Casts in a row.
const MAX_STEPS: usize = 8;

pub fn mark_slots(module: &mut Module<'_>) {
    let functions = ModuleHandle::from_module(module).functions().into_iter();
    for marker in functions.filter(|f| f.intrinsic_name().is_some_and(|name| name.starts_with("llvm.lifetime."))) {
        for call in marker.users().into_iter().filter(|user| user.is_instruction()) {
            // Newer LLVM passes only the pointer, older ones a size before it.
            let place = call.arguments() - 1;
            let pointer = call.operand(place);
            if let Some(slot) = slot_behind(pointer).filter(|slot| *slot != pointer) {
                // SAFETY: a call with an operand of that number, and a value of the module and of the operand's type.
                unsafe { LLVMSetOperand(call.raw(), place, slot.raw()) };
            }
        }
    }
}

fn slot_behind(pointer: Value<'_>) -> Option<Value<'_>> {
    let mut at = pointer;
    for _ in 0..MAX_STEPS {
        match at.any_opcode()? {
            Opcode::Alloca => return Some(at).filter(|slot| slot.ty() == pointer.ty()),
            Opcode::BitCast => {}
            Opcode::GetElementPtr if (1..at.operands()).all(|i| at.operand(i).as_signed_constant() == Some(0)) => {}
            _ => return None,
        }
        at = at.operand(0);
    }
    None
}
