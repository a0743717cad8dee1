//! Blocks, and the one change to a module after which something is gone.

use inkwell::{llvm_sys::core::*, module::Module};

use super::builder::Builder;
use super::handle::{Block, ModuleHandle, Value};
use crate::llvm::kinds::Opcode;

impl<'m> Block<'m> {
    #[must_use]
    pub fn instructions(self) -> Vec<Value<'m>> {
        // SAFETY: any block may be asked; null ends the list.
        let mut next = unsafe { LLVMGetFirstInstruction(self.raw()) };
        let mut list = Vec::new();
        while let Some(instruction) = Value::maybe(next) {
            list.push(instruction);
            // SAFETY: an instruction of the block.
            next = unsafe { LLVMGetNextInstruction(next) };
        }
        list
    }

    #[must_use]
    pub fn terminator(self) -> Option<Value<'m>> {
        // SAFETY: any block may be asked.
        Value::maybe(unsafe { LLVMGetBasicBlockTerminator(self.raw()) })
    }

    fn users(self) -> Vec<Value<'m>> {
        // SAFETY: any block is a value, too.
        Value::new(unsafe { LLVMBasicBlockAsValue(self.raw()) }).users()
    }

    /// Number of edges into this block.
    #[must_use]
    pub fn predecessors(self) -> usize {
        self.users().len()
    }

    /// Where the edges into this block come from, one entry per edge.
    #[must_use]
    pub fn predecessor_blocks(self) -> Vec<Block<'m>> {
        self.users().into_iter().filter(|user| user.is_instruction()).map(Value::block).collect()
    }

    /// The first instruction that is no phi; `None` in a block without a terminator, which no verified module has.
    #[must_use]
    pub fn first_after_phis(self) -> Option<Value<'m>> {
        self.instructions().into_iter().find(|i| i.opcode() != Opcode::Phi)
    }

    #[must_use]
    pub fn successors(self) -> Vec<Block<'m>> {
        let Some(end) = self.terminator() else { return Vec::new() };
        // SAFETY: a terminator.
        let count = unsafe { LLVMGetNumSuccessors(end.raw()) };
        // SAFETY: a terminator with an edge of that number.
        (0..count).map(|i| Block::new(unsafe { LLVMGetSuccessor(end.raw(), i) })).collect()
    }

    /// Leads the edges of the terminator that go to `old` to `new` instead.
    fn redirect_successors(self, old: Block<'m>, new: Block<'m>) {
        let Some(end) = self.terminator() else { return };
        for (number, successor) in (0..).zip(self.successors()) {
            if successor == old {
                // SAFETY: a terminator with an edge of that number.
                unsafe { LLVMSetSuccessor(end.raw(), number, new.raw()) };
            }
        }
    }

    /// Makes the phis of this block name `new` instead of `old`. The C interface cannot change an incoming block, so
    /// each phi is replaced by a copy.
    ///
    /// # Safety
    /// No handle of these phis may be used afterwards.
    unsafe fn redirect_phis(self, builder: &Builder<'m>, old: Block<'m>, new: Block<'m>) {
        for phi in self.instructions().into_iter().take_while(|i| i.opcode() == Opcode::Phi) {
            let incoming: Vec<(Value<'m>, Block<'m>)> =
                phi.incoming().into_iter().map(|(v, b)| (v, if b == old { new } else { b })).collect();
            builder.before(phi);
            let copy = builder.phi(phi.ty(), &incoming);
            phi.replace_all_uses_with(copy);
            // SAFETY: nothing in the module uses it any more, and nobody else has a handle, by the caller's word.
            unsafe { LLVMInstructionEraseFromParent(phi.raw()) };
        }
    }
}

/// An edge between two blocks: from where, to where.
pub type Edge<'m> = (Block<'m>, Block<'m>);

/// Puts a block of its own on each of the edges that `wanted` names of a function, so that what is emitted there runs
/// when control takes that edge and only then.
///
/// Phis are replaced by this, so nothing may remember any: handles that `wanted` has seen end with it, and `module` is
/// lent to nobody else.
pub fn split_edges(module: &mut Module<'_>, wanted: impl for<'m> Fn(ModuleHandle<'m>, Value<'m>) -> Vec<Edge<'m>>) {
    let handle = ModuleHandle::from_module(module);
    let builder = handle.builder();
    for function in handle.functions() {
        for (from, to) in wanted(handle, function) {
            let middle = handle.append_block(function, "");
            // SAFETY: functions, blocks and the builder are all that is kept here.
            unsafe { to.redirect_phis(&builder, from, middle) };
            builder.at_end(middle);
            builder.branch(to);
            from.redirect_successors(to, middle);
        }
    }
}
