//! What is asked of calls and invokes.

use inkwell::llvm_sys::{LLVMAttributeFunctionIndex, core::*, prelude::*};

use super::handle::{AttributeKind, Block, Type, Value, text};
use crate::llvm::kinds::Opcode;
use crate::llvm::{kinds::TailCall, raw};

impl<'m> Value<'m> {
    fn call(self) -> LLVMValueRef {
        self.checked(matches!(self.opcode(), Opcode::Call | Opcode::Invoke | Opcode::CallBr))
    }

    #[must_use]
    pub fn callee(self) -> Value<'m> {
        // SAFETY: a call.
        Value::new(unsafe { LLVMGetCalledValue(self.call()) })
    }

    /// How many arguments it passes; they are its first operands.
    #[must_use]
    pub fn arguments(self) -> u32 {
        // SAFETY: a call.
        unsafe { LLVMGetNumArgOperands(self.call()) }
    }

    #[must_use]
    pub fn is_must_tail(self) -> bool {
        // SAFETY: a `call`, which alone has such a mark.
        let kind = |call| TailCall::from_number(unsafe { raw::LLVMGetTailCallKind(call) });
        self.opcode() == Opcode::Call && kind(self.raw()) == TailCall::Must
    }

    #[must_use]
    pub fn call_has_attribute(self, kind: AttributeKind) -> bool {
        let on_site = self.site_attribute(LLVMAttributeFunctionIndex, kind).is_some();
        on_site || (self.callee().is_function() && self.callee().has_attribute(kind))
    }

    fn site_attribute(self, index: u32, kind: AttributeKind) -> Option<LLVMAttributeRef> {
        // SAFETY: a call; LLVM gives null for what has no such attribute.
        let attribute = unsafe { LLVMGetCallSiteEnumAttribute(self.call(), index, kind.0) };
        (!attribute.is_null()).then_some(attribute)
    }

    /// The function type that a call goes by.
    #[must_use]
    pub fn called_type(self) -> Type<'m> {
        // SAFETY: a call.
        Type::new(unsafe { LLVMGetCalledFunctionType(self.call()) })
    }

    /// The type that an argument's attribute of a kind with types (`byval`, `elementtype`) has, if it has one.
    #[must_use]
    pub fn argument_type(self, index: u32, kind: AttributeKind) -> Option<Type<'m>> {
        let attribute = self.site_attribute(index + 1, kind)?;
        // SAFETY: an attribute with a type.
        Some(Type::new(unsafe { LLVMGetTypeAttributeValue(attribute) }))
    }

    /// Where an invoke continues when the call returns.
    #[must_use]
    pub fn normal_destination(self) -> Block<'m> {
        let raw = self.checked(self.opcode() == Opcode::Invoke);
        // SAFETY: an invoke.
        Block::new(unsafe { LLVMGetNormalDest(raw) })
    }

    /// Text of an inline assembly callee.
    #[must_use]
    pub fn asm_text(self) -> String {
        let callee = self.callee();
        let raw = callee.checked(callee.is_inline_asm());
        let mut len = 0;
        // SAFETY: inline assembly; `len` is the place for the length.
        let start = unsafe { LLVMGetInlineAsmAsmString(raw, &raw mut len) };
        // SAFETY: so many bytes, which live as long as the module.
        unsafe { text(start, len) }
    }

    /// Text of the constraints of an inline assembly callee.
    #[must_use]
    pub fn asm_constraints(self) -> String {
        let callee = self.callee();
        let raw = callee.checked(callee.is_inline_asm());
        let mut len = 0;
        // SAFETY: inline assembly; `len` is the place for the length.
        let start = unsafe { LLVMGetInlineAsmConstraintString(raw, &raw mut len) };
        // SAFETY: so many bytes, which live as long as the module.
        unsafe { text(start, len) }
    }
}
