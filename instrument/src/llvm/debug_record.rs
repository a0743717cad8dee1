//! What debug information says about variables right before an instruction.
//!
//! Takes an instruction, gives its [`DebugRecord`]s. Up to LLVM 18 they are calls of intrinsic functions. From 19 to 21 they are records
//! that the C interface does not tell about, which is why [`keep_as_calls`] has them made into calls.

use std::ffi::CStr;

pub use inkwell::llvm_sys::LLVMDbgRecordKind as DebugRecordKind;
use inkwell::{
    llvm_sys::{LLVMDbgRecordKind::*, core::*, debuginfo::*, prelude::*},
    module::Module,
};

use super::{
    ir::{Metadata, Opcode, Value, metadata, value},
    load,
};

macro_rules! ffi {
    ($call:expr) => {{
        // SAFETY: as in `ir`: all handles belong to the live module, and values are of the kind that is asked for.
        unsafe { $call }
    }};
}

/// The first version whose C interface tells what a record is about.
const TOLD_SINCE: u32 = 22;
/// The first version that has records.
const RECORDS_SINCE: u32 = 19;

#[derive(Clone, Copy)]
pub struct DebugRecord(Form);

#[derive(Clone, Copy)]
enum Form {
    Record(LLVMDbgRecordRef),
    Call(Value, DebugRecordKind),
}

/// Has a module that was read carry calls where the LLVM in use has records and does not tell about them.
pub fn keep_as_calls(module: &Module<'_>) {
    if load().is_ok_and(|llvm| (RECORDS_SINCE..TOLD_SINCE).contains(&llvm.major)) {
        ffi!(LLVMSetIsNewDbgInfoFormat(module.as_mut_ptr(), 0));
    }
}

impl Value {
    /// What is said before this instruction, or by it.
    #[must_use]
    pub fn debug_records(self) -> Vec<DebugRecord> {
        let mut records = Vec::new();
        if load().is_ok_and(|llvm| llvm.major >= TOLD_SINCE) {
            let mut next = ffi!(LLVMGetFirstDbgRecord(self.0));
            while !next.is_null() {
                records.push(DebugRecord(Form::Record(next)));
                next = ffi!(LLVMGetNextDbgRecord(next));
            }
        } else if self.opcode() == Opcode::LLVMCall {
            let kind = self.callee().intrinsic_name().and_then(|name| match name.as_str() {
                "llvm.dbg.declare" | "llvm.dbg.addr" => Some(LLVMDbgRecordDeclare),
                "llvm.dbg.value" => Some(LLVMDbgRecordValue),
                _ => None,
            });
            records.extend(kind.map(|kind| DebugRecord(Form::Call(self, kind))));
        }
        records
    }
}

impl DebugRecord {
    #[must_use]
    pub fn kind(self) -> DebugRecordKind {
        match self.0 {
            Form::Record(record) => ffi!(LLVMDbgRecordGetKind(record)),
            Form::Call(_, kind) => kind,
        }
    }

    /// The first value that it is about; not of labels. A call that is about a list of values tells none.
    #[must_use]
    pub fn value(self) -> Option<Value> {
        match self.0 {
            Form::Record(record) => value(ffi!(LLVMDbgVariableRecordGetValue(record, 0))),
            Form::Call(call, _) => {
                let wrapped = call.operand(0);
                let node = metadata(ffi!(LLVMValueAsMetadata(wrapped.0)))?;
                let is_value = matches!(
                    ffi!(LLVMGetMetadataKind(node.0)),
                    LLVMMetadataKind::LLVMLocalAsMetadataMetadataKind
                        | LLVMMetadataKind::LLVMConstantAsMetadataMetadataKind
                );
                let mut found = std::ptr::null_mut();
                if is_value {
                    ffi!(LLVMGetMDNodeOperands(wrapped.0, &raw mut found));
                }
                value(found)
            }
        }
    }

    #[must_use]
    pub fn variable(self) -> Option<Metadata> {
        match self.0 {
            Form::Record(record) => metadata(ffi!(LLVMDbgVariableRecordGetVariable(record))),
            Form::Call(call, _) => metadata(ffi!(LLVMValueAsMetadata(call.operand(1).0))),
        }
    }

    #[must_use]
    pub fn expression(self) -> Option<Metadata> {
        match self.0 {
            Form::Record(record) => metadata(ffi!(LLVMDbgVariableRecordGetExpression(record))),
            Form::Call(call, _) => metadata(ffi!(LLVMValueAsMetadata(call.operand(2).0))),
        }
    }

    /// Its text, or at least that of its expression.
    #[must_use]
    pub fn text(self) -> String {
        let start = match self.0 {
            Form::Record(record) => ffi!(LLVMPrintDbgRecordToString(record)),
            Form::Call(call, _) => ffi!(LLVMPrintValueToString(call.operand(2).0)),
        };
        // SAFETY: LLVM returns a C string that the caller must dispose of; it is copied first.
        let text = unsafe { CStr::from_ptr(start) }.to_string_lossy().into_owned();
        ffi!(LLVMDisposeMessage(start));
        text
    }
}
