//! What debug information says about variables right before an instruction.
//!
//! Takes an instruction, gives its [`DebugRecord`]s. Up to LLVM 18 they are calls of intrinsic functions. From 19 to 21
//! they are records that the C interface does not tell about, which is why [`keep_as_calls`] has them made into calls.

use std::{ffi::CStr, marker::PhantomData};

use inkwell::{
    llvm_sys::{core::*, prelude::*},
    module::Module,
};

pub use super::kinds::DebugRecordKind;
use super::{
    ir::{Metadata, Opcode, Value},
    load, raw,
};

/// The first version whose C interface tells what a record is about.
const TOLD_SINCE: u32 = 22;
/// The first version that has records.
const RECORDS_SINCE: u32 = 19;

#[derive(Clone, Copy)]
pub struct DebugRecord<'m>(Form<'m>);

#[derive(Clone, Copy)]
enum Form<'m> {
    Record(LLVMDbgRecordRef, PhantomData<&'m ()>),
    Call(Value<'m>, DebugRecordKind),
}

/// Has a module that was read carry calls where the LLVM in use has records and does not tell about them.
pub fn keep_as_calls(module: &mut Module<'_>) {
    if load().is_ok_and(|llvm| (RECORDS_SINCE..TOLD_SINCE).contains(&llvm.major)) {
        // SAFETY: the module, which nobody else has a handle into.
        unsafe { LLVMSetIsNewDbgInfoFormat(module.as_mut_ptr(), 0) };
    }
}

impl<'m> Value<'m> {
    /// What is said before this instruction, or by it.
    #[must_use]
    pub fn debug_records(self) -> Vec<DebugRecord<'m>> {
        let mut records = Vec::new();
        if !self.is_instruction() {
            return records;
        }
        if load().is_ok_and(|llvm| llvm.major >= TOLD_SINCE) {
            // SAFETY: an instruction; null ends the list.
            let mut next = unsafe { LLVMGetFirstDbgRecord(self.raw()) };
            while !next.is_null() {
                records.push(DebugRecord(Form::Record(next, PhantomData)));
                // SAFETY: a record of the instruction.
                next = unsafe { LLVMGetNextDbgRecord(next) };
            }
        } else if self.opcode() == Opcode::Call {
            let kind = self.callee().intrinsic_name().and_then(|name| match name.as_str() {
                "llvm.dbg.declare" | "llvm.dbg.addr" => Some(DebugRecordKind::Declare),
                "llvm.dbg.value" => Some(DebugRecordKind::Value),
                _ => None,
            });
            records.extend(kind.map(|kind| DebugRecord(Form::Call(self, kind))));
        }
        records
    }
}

impl<'m> DebugRecord<'m> {
    #[must_use]
    pub fn kind(self) -> DebugRecordKind {
        match self.0 {
            // SAFETY: a record.
            Form::Record(record, _) => DebugRecordKind::from_number(unsafe { raw::LLVMDbgRecordGetKind(record) }),
            Form::Call(_, kind) => kind,
        }
    }

    /// The raw handle of a record about a variable.
    fn about_variable(self, record: LLVMDbgRecordRef) -> Option<LLVMDbgRecordRef> {
        let is_label = matches!(self.kind(), DebugRecordKind::Label | DebugRecordKind::Other);
        (!is_label).then_some(record)
    }

    /// The first value that it is about; not of labels. A call that is about a list of values tells none.
    #[must_use]
    pub fn value(self) -> Option<Value<'m>> {
        match self.0 {
            Form::Record(record, _) => {
                let record = self.about_variable(record)?;
                // SAFETY: a record about a variable, which has a first value or none.
                Value::maybe(unsafe { LLVMDbgVariableRecordGetValue(record, 0) })
            }
            Form::Call(call, _) => call.operand(0).wrapped(),
        }
    }

    #[must_use]
    pub fn variable(self) -> Option<Metadata<'m>> {
        match self.0 {
            Form::Record(record, _) => {
                let record = self.about_variable(record)?;
                // SAFETY: a record about a variable.
                Metadata::maybe(unsafe { LLVMDbgVariableRecordGetVariable(record) })
            }
            Form::Call(call, _) => call.operand(1).as_metadata(),
        }
    }

    #[must_use]
    pub fn expression(self) -> Option<Metadata<'m>> {
        match self.0 {
            Form::Record(record, _) => {
                let record = self.about_variable(record)?;
                // SAFETY: a record about a variable.
                Metadata::maybe(unsafe { LLVMDbgVariableRecordGetExpression(record) })
            }
            Form::Call(call, _) => call.operand(2).as_metadata(),
        }
    }

    /// Its text, or at least that of its expression.
    #[must_use]
    pub fn text(self) -> String {
        let start = match self.0 {
            // SAFETY: a record.
            Form::Record(record, _) => unsafe { LLVMPrintDbgRecordToString(record) },
            // SAFETY: any value may be printed.
            Form::Call(call, _) => unsafe { LLVMPrintValueToString(call.operand(2).raw()) },
        };
        // SAFETY: LLVM gives a C string that the caller must dispose of; it is copied first.
        let text = unsafe { CStr::from_ptr(start) }.to_string_lossy().into_owned();
        // SAFETY: as above.
        unsafe { LLVMDisposeMessage(start) };
        text
    }
}
