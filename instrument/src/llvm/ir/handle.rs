//! The handles themselves: each borrows its module and is a pointer of LLVM that is not null.

use std::{
    ffi::{CString, c_char},
    marker::PhantomData,
};

use inkwell::{
    llvm_sys::{core::LLVMGetModuleContext, prelude::*},
    module::Module,
};

/// Anything that can be an operand: instruction, argument, constant, global, block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Value<'m>(LLVMValueRef, PhantomData<&'m ()>);

/// A basic block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Block<'m>(LLVMBasicBlockRef, PhantomData<&'m ()>);

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Type<'m>(LLVMTypeRef, PhantomData<&'m ()>);

/// A node of metadata, nearly always of debug information.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Metadata<'m>(LLVMMetadataRef, PhantomData<&'m ()>);

macro_rules! handle {
    ($name:ident, $raw:ty) => {
        impl $name<'_> {
            /// Of what LLVM has given for the module that the handle is to borrow; `None` for null.
            pub(in crate::llvm) fn maybe(raw: $raw) -> Option<Self> {
                (!raw.is_null()).then_some(Self(raw, PhantomData))
            }

            pub(in crate::llvm) fn raw(self) -> $raw {
                self.0
            }
        }
    };
    ($name:ident, $raw:ty, never null) => {
        handle!($name, $raw);

        impl $name<'_> {
            /// A handle of what LLVM always gives; panics if it did not.
            #[track_caller]
            pub(in crate::llvm) fn new(raw: $raw) -> Self {
                Self::maybe(raw).expect("LLVM gives a handle")
            }
        }
    };
}

handle!(Value, LLVMValueRef, never null);
handle!(Block, LLVMBasicBlockRef, never null);
handle!(Type, LLVMTypeRef, never null);
handle!(Metadata, LLVMMetadataRef);

/// Number of an enum attribute, to ask for it on functions and call sites.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct AttributeKind(pub(super) u32);

impl AttributeKind {
    #[must_use]
    pub fn named(name: &str) -> Self {
        use inkwell::llvm_sys::core::LLVMGetEnumAttributeKindForName;
        // SAFETY: so many bytes; any name may be asked for.
        Self(unsafe { LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len()) })
    }

    /// Whether the LLVM in use has an attribute of the name; others must not be asked for.
    #[must_use]
    pub fn is_known(self) -> bool {
        self.0 != 0
    }
}

/// A copy of text that LLVM owns; empty for null.
///
/// # Safety
/// `len` bytes must be readable at `start`, unless it is null.
pub(super) unsafe fn text(start: *const c_char, len: usize) -> String {
    if start.is_null() {
        return String::new();
    }
    // SAFETY: the caller's word.
    String::from_utf8_lossy(unsafe { std::slice::from_raw_parts(start.cast::<u8>(), len) }).into_owned()
}

/// A name as LLVM takes it. Ours have no zero byte; those of a module end where they have one.
pub(super) fn c_name(name: &str) -> CString {
    CString::new(name.split('\0').next().unwrap_or_default()).expect("cut before the first zero byte")
}

/// A module and its context.
#[derive(Clone, Copy)]
pub struct ModuleHandle<'m>(LLVMModuleRef, LLVMContextRef, PhantomData<&'m ()>);

impl<'m> ModuleHandle<'m> {
    #[must_use]
    pub fn from_module(module: &'m Module<'_>) -> Self {
        let raw = module.as_mut_ptr();
        // SAFETY: a module that lives as long as it is borrowed.
        Self(raw, unsafe { LLVMGetModuleContext(raw) }, PhantomData)
    }

    pub(super) fn raw(self) -> LLVMModuleRef {
        self.0
    }

    pub(super) fn context(self) -> LLVMContextRef {
        self.1
    }
}
