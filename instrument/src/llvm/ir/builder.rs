//! Emits instructions.
//!
//! The functions of LLVM check neither that operands fit together nor that a builder has a place; a module that was
//! changed is verified before code is made of it.

use std::ffi::c_char;

use inkwell::llvm_sys::{LLVMAtomicOrdering, LLVMCallConv, LLVMIntPredicate, core::*, prelude::*};

use super::{
    handle::{Block, Metadata, ModuleHandle, Type, Value},
    types::Layout,
};
use crate::llvm::kinds::{Opcode, TypeKind};

/// Calling convention whose callee preserves nearly all registers.
pub(super) const PRESERVE_MOST: u32 = LLVMCallConv::LLVMPreserveMostCallConv as u32;

/// A place in a module where instructions are added. It begins at the place that is said first.
pub struct Builder<'m> {
    raw: LLVMBuilderRef,
    module: ModuleHandle<'m>,
}

impl Drop for Builder<'_> {
    fn drop(&mut self) {
        // SAFETY: made by `new`, and not used any more.
        unsafe { LLVMDisposeBuilder(self.raw) };
    }
}

const UNNAMED: *const c_char = c"".as_ptr();

/// A function of LLVM's that makes one integer of two.
type Binary = unsafe extern "C" fn(LLVMBuilderRef, LLVMValueRef, LLVMValueRef, *const c_char) -> LLVMValueRef;

impl<'m> Builder<'m> {
    pub(super) fn new(module: ModuleHandle<'m>) -> Self {
        // SAFETY: the module's context, which lives as long as the module.
        Self { raw: unsafe { LLVMCreateBuilderInContext(module.context()) }, module }
    }

    /// Emits before an instruction, with its debug location.
    pub fn before(&self, instruction: Value<'m>) {
        let raw = instruction.checked(instruction.is_instruction());
        // SAFETY: an instruction, which is in a block.
        unsafe { LLVMPositionBuilderBefore(self.raw, raw) };
        self.debug_location(instruction.debug_location());
    }

    /// Emits phis at the start of a block, before what debuggers are told there.
    pub fn at_start(&self, block: Block<'m>) {
        // SAFETY: any block may be asked.
        match Value::maybe(unsafe { LLVMGetFirstInstruction(block.raw()) }) {
            // SAFETY: an instruction of the block.
            Some(first) => unsafe { LLVMPositionBuilderBeforeInstrAndDbgRecords(self.raw, first.raw()) },
            None => self.at_end(block),
        }
        self.debug_location(None);
    }

    pub fn at_end(&self, block: Block<'m>) {
        // SAFETY: a block of the module.
        unsafe { LLVMPositionBuilderAtEnd(self.raw, block.raw()) };
        self.debug_location(None);
    }

    pub fn debug_location(&self, location: Option<Metadata<'m>>) {
        let raw = location.map_or(std::ptr::null_mut(), Metadata::raw);
        // SAFETY: a location of the module, or null for none.
        unsafe { LLVMSetCurrentDebugLocation2(self.raw, raw) };
    }

    #[must_use]
    pub fn load(&self, ty: Type<'m>, pointer: Value<'m>) -> Value<'m> {
        let raw = pointer.checked(pointer.ty().is_pointer() && ty.is_sized());
        // SAFETY: a type with a size, and a pointer.
        Value::new(unsafe { LLVMBuildLoad2(self.raw, ty.raw(), raw, UNNAMED) })
    }

    fn build_store(&self, what: Value<'m>, pointer: Value<'m>) -> LLVMValueRef {
        let raw = pointer.checked(pointer.ty().is_pointer() && what.ty().is_sized());
        // SAFETY: a value with a size, and a pointer.
        unsafe { LLVMBuildStore(self.raw, what.raw(), raw) }
    }

    pub fn store(&self, what: Value<'m>, pointer: Value<'m>) {
        self.build_store(what, pointer);
    }

    pub fn store_release(&self, what: Value<'m>, pointer: Value<'m>) {
        let store = self.build_store(what, pointer);
        // SAFETY: a store.
        unsafe { LLVMSetOrdering(store, LLVMAtomicOrdering::LLVMAtomicOrderingRelease) };
        // SAFETY: as above.
        unsafe { LLVMSetAlignment(store, 8) };
    }

    /// The address so many bytes behind a pointer.
    #[must_use]
    pub fn offset(&self, pointer: Value<'m>, bytes: u64) -> Value<'m> {
        if bytes == 0 {
            return pointer;
        }
        let mut index = [self.module.constant(64, bytes).raw()];
        let raw = pointer.checked(pointer.ty().is_pointer());
        let byte = self.module.int_type(8).raw();
        // SAFETY: a type with a size, a pointer and one index.
        Value::new(unsafe { LLVMBuildGEP2(self.raw, byte, raw, index.as_mut_ptr(), 1, UNNAMED) })
    }

    /// Whether `a` is above `b`, both taken for unsigned.
    #[must_use]
    pub fn greater(&self, a: Value<'m>, b: Value<'m>) -> Value<'m> {
        let (a, b) = same_type(a, b);
        // SAFETY: two values of one type.
        Value::new(unsafe { LLVMBuildICmp(self.raw, LLVMIntPredicate::LLVMIntUGT, a, b, UNNAMED) })
    }

    pub fn branch_if(&self, condition: Value<'m>, then: Block<'m>, otherwise: Block<'m>) {
        // SAFETY: a value and two blocks of the module.
        unsafe { LLVMBuildCondBr(self.raw, condition.raw(), then.raw(), otherwise.raw()) };
    }

    pub fn branch(&self, to: Block<'m>) {
        // SAFETY: a block of the module.
        unsafe { LLVMBuildBr(self.raw, to.raw()) };
    }

    #[must_use]
    pub fn phi(&self, ty: Type<'m>, incoming: &[(Value<'m>, Block<'m>)]) -> Value<'m> {
        // SAFETY: a type of the module's context.
        let phi = Value::new(unsafe { LLVMBuildPhi(self.raw, ty.raw(), UNNAMED) });
        incoming.iter().for_each(|&(value, from)| self.add_incoming(phi, value, from));
        phi
    }

    /// Adds an edge to a phi.
    pub fn add_incoming(&self, phi: Value<'m>, value: Value<'m>, from: Block<'m>) {
        let raw = phi.checked(phi.opcode() == Opcode::Phi && phi.ty() == value.ty());
        let (mut value, mut from) = (value.raw(), from.raw());
        // SAFETY: a phi, and one value of its type with one block.
        unsafe { LLVMAddIncoming(raw, &raw mut value, &raw mut from, 1) };
    }

    /// A call of a function of the type `ty`.
    pub fn call(&self, ty: Type<'m>, function: Value<'m>, arguments: &[Value<'m>]) -> Value<'m> {
        assert!(ty.parameter_count() as usize == arguments.len(), "a call has the arguments of its function");
        let mut raw: Vec<LLVMValueRef> = arguments.iter().map(|a| a.raw()).collect();
        let count = raw.len() as u32;
        // SAFETY: a function type, and as many values as it has parameters.
        Value::new(unsafe { LLVMBuildCall2(self.raw, ty.raw(), function.raw(), raw.as_mut_ptr(), count, UNNAMED) })
    }

    /// A call whose callee preserves nearly all registers.
    pub fn call_preserving_most(&self, ty: Type<'m>, function: Value<'m>, arguments: &[Value<'m>]) -> Value<'m> {
        let call = self.call(ty, function, arguments);
        // SAFETY: a call.
        unsafe { LLVMSetInstructionCallConv(call.raw(), PRESERVE_MOST) };
        call
    }

    /// Any integer, pointer or vector of `i1` as a 64-bit word (zero-extended; wider masks are refused by the planner).
    #[must_use]
    pub fn word(&self, what: Value<'m>) -> Value<'m> {
        let word = self.module.int_type(64);
        match what.ty().kind() {
            TypeKind::Pointer => {
                // SAFETY: a pointer, and an integer type.
                Value::new(unsafe { LLVMBuildPtrToInt(self.raw, what.raw(), word.raw(), UNNAMED) })
            }
            TypeKind::Vector => {
                let bits = self.module.int_type(what.ty().lanes());
                // SAFETY: a vector of bits, and the integer of as many.
                self.word(Value::new(unsafe { LLVMBuildBitCast(self.raw, what.raw(), bits.raw(), UNNAMED) }))
            }
            _ if what.ty() == word => what,
            _ => self.integer(what, word, false),
        }
    }

    /// A bit as a 64-bit word.
    #[must_use]
    pub fn bit_word(&self, bit: Value<'m>) -> Value<'m> {
        self.integer(bit, self.module.int_type(64), false)
    }

    /// A pointer, or an integer sign-extended, as a 64-bit word.
    #[must_use]
    pub fn signed_word(&self, what: Value<'m>) -> Value<'m> {
        if what.ty().is_pointer() {
            return self.word(what);
        }
        self.integer(what, self.module.int_type(64), true)
    }

    fn integer(&self, what: Value<'m>, ty: Type<'m>, signed: bool) -> Value<'m> {
        let raw = what.checked(what.ty().kind() == TypeKind::Integer);
        // SAFETY: an integer, and an integer type.
        Value::new(unsafe { LLVMBuildIntCast2(self.raw, raw, ty.raw(), signed.into(), UNNAMED) })
    }

    #[must_use]
    pub fn lane(&self, vector: Value<'m>, lane: u32) -> Value<'m> {
        let raw = vector.checked(vector.ty().kind() == TypeKind::Vector);
        let lane = self.module.constant(32, lane.into()).raw();
        // SAFETY: a vector, and an integer.
        Value::new(unsafe { LLVMBuildExtractElement(self.raw, raw, lane, UNNAMED) })
    }

    /// The highest bit of each of so many lanes into which a value is cut: a vector of bits.
    #[must_use]
    pub fn signs(&self, what: Value<'m>, lanes: u32) -> Value<'m> {
        let bits = Layout::for_module(self.module).store_size(what.ty()) * 8;
        assert!(lanes > 0 && bits.is_multiple_of(u64::from(lanes)), "lanes of one size");
        let element = self.module.int_type((bits / u64::from(lanes)) as u32);
        // SAFETY: an integer type, and lanes.
        let vector = unsafe { LLVMVectorType(element.raw(), lanes) };
        // SAFETY: a value of as many bits as the vector.
        let cut = unsafe { LLVMBuildBitCast(self.raw, what.raw(), vector, UNNAMED) };
        // SAFETY: a type of integers.
        let zero = unsafe { LLVMConstNull(vector) };
        // SAFETY: two vectors of one type.
        Value::new(unsafe { LLVMBuildICmp(self.raw, LLVMIntPredicate::LLVMIntSLT, cut, zero, UNNAMED) })
    }

    fn binary(&self, build: Binary, a: Value<'m>, b: Value<'m>) -> Value<'m> {
        let (a, b) = same_type(a, b);
        // SAFETY: one of LLVM's functions for two integers of one type, which these are.
        Value::new(unsafe { build(self.raw, a, b, UNNAMED) })
    }

    #[must_use]
    pub fn add(&self, a: Value<'m>, b: Value<'m>) -> Value<'m> {
        self.binary(LLVMBuildAdd, a, b)
    }

    #[must_use]
    pub fn subtract(&self, a: Value<'m>, b: Value<'m>) -> Value<'m> {
        self.binary(LLVMBuildSub, a, b)
    }

    #[must_use]
    pub fn multiply(&self, a: Value<'m>, b: Value<'m>) -> Value<'m> {
        self.binary(LLVMBuildMul, a, b)
    }

    #[must_use]
    pub fn shift_left(&self, a: Value<'m>, b: Value<'m>) -> Value<'m> {
        self.binary(LLVMBuildShl, a, b)
    }

    #[must_use]
    pub fn divide_unsigned(&self, a: Value<'m>, b: Value<'m>) -> Value<'m> {
        self.binary(LLVMBuildUDiv, a, b)
    }

    #[must_use]
    pub fn shift_right(&self, a: Value<'m>, b: Value<'m>) -> Value<'m> {
        self.binary(LLVMBuildLShr, a, b)
    }

    #[must_use]
    pub fn and(&self, a: Value<'m>, b: Value<'m>) -> Value<'m> {
        self.binary(LLVMBuildAnd, a, b)
    }

    /// Whether a number, taken for signed, is below 0.
    #[must_use]
    pub fn is_negative(&self, a: Value<'m>) -> Value<'m> {
        let zero = self.integer(self.module.constant(64, 0), a.ty(), true).raw();
        // SAFETY: two integers of one type.
        Value::new(unsafe { LLVMBuildICmp(self.raw, LLVMIntPredicate::LLVMIntSLT, a.raw(), zero, UNNAMED) })
    }

    #[must_use]
    pub fn equal(&self, a: Value<'m>, b: Value<'m>) -> Value<'m> {
        let (a, b) = same_type(a, b);
        // SAFETY: two values of one type.
        Value::new(unsafe { LLVMBuildICmp(self.raw, LLVMIntPredicate::LLVMIntEQ, a, b, UNNAMED) })
    }

    /// The address so many bytes behind a pointer.
    #[must_use]
    pub fn offset_by(&self, pointer: Value<'m>, bytes: Value<'m>) -> Value<'m> {
        let mut index = [bytes.raw()];
        let raw = pointer.checked(pointer.ty().is_pointer());
        let byte = self.module.int_type(8).raw();
        // SAFETY: a type with a size, a pointer and one index.
        Value::new(unsafe { LLVMBuildGEP2(self.raw, byte, raw, index.as_mut_ptr(), 1, UNNAMED) })
    }

    pub fn return_value(&self, value: Value<'m>) {
        // SAFETY: a builder at the end of a block of a function with a result of that type.
        unsafe { LLVMBuildRet(self.raw, value.raw()) };
    }

    pub fn return_void(&self) {
        // SAFETY: a builder at the end of a block.
        unsafe { LLVMBuildRetVoid(self.raw) };
    }
}

#[track_caller]
fn same_type(a: Value<'_>, b: Value<'_>) -> (LLVMValueRef, LLVMValueRef) {
    assert!(a.ty() == b.ty(), "operands of one type");
    (a.raw(), b.raw())
}
