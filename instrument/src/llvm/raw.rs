//! Functions of LLVM's C interface that give a value of an enum, as they are: they give a number.
//!
//! The bindings say that they give a Rust enum, and a number that is none of its variants would be undefined behaviour.
//! An LLVM of another version has other variants, so numbers are looked up in [`super::kinds`] first.

use std::ffi::c_uint;

use inkwell::llvm_sys::prelude::*;

unsafe extern "C" {
    pub fn LLVMGetInstructionOpcode(instruction: LLVMValueRef) -> c_uint;
    pub fn LLVMGetConstOpcode(constant: LLVMValueRef) -> c_uint;
    pub fn LLVMGetICmpPredicate(instruction: LLVMValueRef) -> c_uint;
    pub fn LLVMGetFCmpPredicate(instruction: LLVMValueRef) -> c_uint;
    pub fn LLVMGetAtomicRMWBinOp(instruction: LLVMValueRef) -> c_uint;
    pub fn LLVMGetOrdering(instruction: LLVMValueRef) -> c_uint;
    pub fn LLVMGetCmpXchgSuccessOrdering(instruction: LLVMValueRef) -> c_uint;
    pub fn LLVMGetTailCallKind(call: LLVMValueRef) -> c_uint;
    pub fn LLVMGetLinkage(global: LLVMValueRef) -> c_uint;
    pub fn LLVMGetTypeKind(ty: LLVMTypeRef) -> c_uint;
    pub fn LLVMGetMetadataKind(node: LLVMMetadataRef) -> c_uint;
    pub fn LLVMDbgRecordGetKind(record: LLVMDbgRecordRef) -> c_uint;
    pub fn LLVMGetDiagInfoSeverity(info: LLVMDiagnosticInfoRef) -> c_uint;
}
