//! Collects what LLVM has to complain about, instead of letting it print and end the process.
//!
//! Without a handler, an error such as bad inline assembly exits from inside the code generator, and temporary files
//! stay behind. With one, generation goes on and the caller asks for the errors afterwards.

use std::{cell::RefCell, ffi::CStr, os::raw::c_void};

use inkwell::{
    context::{AsContextRef, Context},
    llvm_sys::{
        core::{LLVMContextSetDiagnosticHandler, LLVMDisposeMessage, LLVMGetDiagInfoDescription},
        prelude::LLVMDiagnosticInfoRef,
    },
};

use super::{kinds::Severity, raw};

/// Errors of one context. Must live as long as the context is used.
#[derive(Default)]
pub struct Diagnostics {
    errors: RefCell<Vec<String>>,
}

impl Diagnostics {
    /// Makes a context report here.
    pub fn listen(&self, context: &Context) {
        let place = std::ptr::from_ref(self).cast_mut().cast::<c_void>();
        // SAFETY: the handler only runs inside calls on this context, which the caller makes while `self` is alive.
        unsafe { LLVMContextSetDiagnosticHandler(context.as_ctx_ref(), Some(collect), place) };
    }

    /// The errors so far, in order; `None` if all went well.
    #[must_use]
    pub fn errors(&self) -> Option<String> {
        let errors = self.errors.borrow();
        (!errors.is_empty()).then(|| errors.join("; "))
    }
}

extern "C" fn collect(info: LLVMDiagnosticInfoRef, place: *mut c_void) {
    // SAFETY: `info` is valid during this call.
    if Severity::from_number(unsafe { raw::LLVMGetDiagInfoSeverity(info) }) != Severity::Error {
        return;
    }
    // SAFETY: as above; the description is a C string that we dispose of below.
    let text = unsafe { LLVMGetDiagInfoDescription(info) };
    // SAFETY: `text` is a C string.
    let message = unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
    // SAFETY: LLVM allocated it for us.
    unsafe { LLVMDisposeMessage(text) };
    // SAFETY: `place` is the `Diagnostics` given to `listen`, still alive; only shared access is made.
    let diagnostics = unsafe { &*place.cast::<Diagnostics>() };
    diagnostics.errors.borrow_mut().push(message);
}
