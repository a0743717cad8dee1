//! What is asked of functions and globals, and what is changed of them.

use std::ffi::CStr;

use inkwell::llvm_sys::{
    LLVMAttributeFunctionIndex, LLVMLinkage, LLVMVisibility,
    comdat::{LLVMGetComdat, LLVMSetComdat},
    core::*,
    debuginfo::LLVMGetSubprogram,
    prelude::*,
};

use super::handle::{AttributeKind, Block, Metadata, Type, Value, c_name, text};
use crate::llvm::kinds::Linkage;
use crate::llvm::raw;

impl<'m> Value<'m> {
    #[must_use]
    pub fn is_function(self) -> bool {
        // SAFETY: any value may be asked.
        !unsafe { LLVMIsAFunction(self.raw()) }.is_null()
    }

    #[must_use]
    pub fn is_global_variable(self) -> bool {
        // SAFETY: any value may be asked.
        !unsafe { LLVMIsAGlobalVariable(self.raw()) }.is_null()
    }

    fn is_global(self) -> bool {
        // SAFETY: any value may be asked.
        !unsafe { LLVMIsAGlobalValue(self.raw()) }.is_null()
    }

    /// A function or variable: what can be in a section.
    fn object(self) -> LLVMValueRef {
        self.checked(self.is_function() || self.is_global_variable())
    }

    fn function(self) -> LLVMValueRef {
        self.checked(self.is_function())
    }

    /// A global variable that nobody writes.
    #[must_use]
    pub fn is_constant_variable(self) -> bool {
        // SAFETY: a global variable.
        self.is_global_variable() && unsafe { LLVMIsGlobalConstant(self.raw()) != 0 }
    }

    #[must_use]
    pub fn is_declaration(self) -> bool {
        let raw = self.checked(self.is_global());
        // SAFETY: a global.
        unsafe { LLVMIsDeclaration(raw) != 0 }
    }

    #[must_use]
    pub fn linkage(self) -> Linkage {
        let raw = self.checked(self.is_global());
        // SAFETY: a global.
        Linkage::from_number(unsafe { raw::LLVMGetLinkage(raw) })
    }

    pub fn set_internal(self) {
        // SAFETY: a function or variable.
        unsafe { LLVMSetLinkage(self.object(), LLVMLinkage::LLVMInternalLinkage) };
    }

    /// Has the module emit the body that it has of a function that another module defines too, for itself.
    pub fn emit_own_copy(self) {
        let raw = self.function();
        // SAFETY: a function.
        unsafe { LLVMSetLinkage(raw, LLVMLinkage::LLVMLinkOnceODRLinkage) };
        // SAFETY: as above.
        unsafe { LLVMSetVisibility(raw, LLVMVisibility::LLVMHiddenVisibility) };
    }

    /// A function's attribute of this kind.
    fn attribute(self, index: u32, kind: AttributeKind) -> Option<LLVMAttributeRef> {
        // SAFETY: a function; LLVM gives null for what has no such attribute.
        let attribute = unsafe { LLVMGetEnumAttributeAtIndex(self.function(), index, kind.0) };
        (!attribute.is_null()).then_some(attribute)
    }

    #[must_use]
    pub fn has_attribute(self, kind: AttributeKind) -> bool {
        self.attribute(LLVMAttributeFunctionIndex, kind).is_some()
    }

    /// Integer value of a function attribute such as `memory(...)`.
    #[must_use]
    pub fn attribute_value(self, kind: AttributeKind) -> Option<u64> {
        let attribute = self.attribute(LLVMAttributeFunctionIndex, kind)?;
        // SAFETY: an enum attribute, whose value is 0 if it has none.
        Some(unsafe { LLVMGetEnumAttributeValue(attribute) })
    }

    #[must_use]
    pub fn has_string_attribute(self, name: &str) -> bool {
        let (start, len) = (name.as_ptr().cast(), name.len() as u32);
        // SAFETY: a function, and so many bytes.
        !unsafe { LLVMGetStringAttributeAtIndex(self.function(), LLVMAttributeFunctionIndex, start, len) }.is_null()
    }

    /// The type of what a parameter passed by value points to, if it is one.
    #[must_use]
    pub fn parameter_byval(self, index: u32, kind: AttributeKind) -> Option<Type<'m>> {
        let attribute = self.attribute(index + 1, kind)?;
        // SAFETY: `byval` is an attribute with a type.
        Some(Type::new(unsafe { LLVMGetTypeAttributeValue(attribute) }))
    }

    #[must_use]
    pub fn parameters(self) -> Vec<Value<'m>> {
        let raw = self.function();
        // SAFETY: a function.
        let count = unsafe { LLVMCountParams(raw) };
        // SAFETY: a function with a parameter of that number.
        (0..count).map(|i| Value::new(unsafe { LLVMGetParam(raw, i) })).collect()
    }

    #[must_use]
    pub fn blocks(self) -> Vec<Block<'m>> {
        // SAFETY: a function; null ends the list.
        let mut next = unsafe { LLVMGetFirstBasicBlock(self.function()) };
        let mut blocks = Vec::new();
        while let Some(block) = Block::maybe(next) {
            blocks.push(block);
            // SAFETY: a block of the function.
            next = unsafe { LLVMGetNextBasicBlock(next) };
        }
        blocks
    }

    /// The debug node of a function.
    #[must_use]
    pub fn subprogram(self) -> Option<Metadata<'m>> {
        // SAFETY: a function.
        Metadata::maybe(unsafe { LLVMGetSubprogram(self.function()) })
    }

    /// Name of an intrinsic (`llvm.memcpy.p0.p0.i64`), if this is one.
    #[must_use]
    pub fn intrinsic_name(self) -> Option<String> {
        // SAFETY: a function.
        let is_intrinsic = self.is_function() && unsafe { LLVMGetIntrinsicID(self.raw()) != 0 };
        is_intrinsic.then(|| self.name())
    }

    pub fn set_section(self, section: &str) {
        let section = c_name(section);
        // SAFETY: a function or variable, and a C string, which is copied.
        unsafe { LLVMSetSection(self.object(), section.as_ptr()) };
    }

    #[must_use]
    pub fn has_section(self) -> bool {
        // SAFETY: a function or variable.
        let section = unsafe { LLVMGetSection(self.object()) };
        // SAFETY: LLVM gives null or a C string that lives as long as the global.
        !section.is_null() && !unsafe { CStr::from_ptr(section) }.is_empty()
    }

    pub fn copy_comdat_from(self, other: Value<'m>) {
        let to = self.object();
        // SAFETY: a function or variable.
        let comdat = unsafe { LLVMGetComdat(other.object()) };
        if !comdat.is_null() {
            // SAFETY: as above, of the same module as the comdat.
            unsafe { LLVMSetComdat(to, comdat) };
        }
    }

    #[must_use]
    pub fn has_comdat(self) -> bool {
        // SAFETY: a function or variable.
        !unsafe { LLVMGetComdat(self.object()) }.is_null()
    }

    /// The signature of a function.
    #[must_use]
    pub fn function_type(self) -> Type<'m> {
        // SAFETY: a function.
        Type::new(unsafe { LLVMGlobalGetValueType(self.function()) })
    }

    /// Has the callee preserve nearly all registers.
    pub fn preserve_most(self) {
        // SAFETY: a function.
        unsafe { LLVMSetFunctionCallConv(self.function(), super::builder::PRESERVE_MOST) };
    }

    /// The debug nodes of a global.
    pub(super) fn global_nodes(self) -> Vec<Metadata<'m>> {
        let mut count = 0;
        // SAFETY: a function or variable; `count` is the place for how many there are.
        let entries = unsafe { LLVMGlobalCopyAllMetadata(self.object(), &raw mut count) };
        // SAFETY: an entry of that number.
        let node = |i: u32| unsafe { LLVMValueMetadataEntriesGetMetadata(entries, i) };
        let nodes = (0..count as u32).map(node).filter_map(Metadata::maybe).collect();
        // SAFETY: the list is ours, and not used any more.
        unsafe { LLVMDisposeValueMetadataEntries(entries) };
        nodes
    }

    /// The text of a metadata string that is used as a value.
    pub(super) fn metadata_string(self) -> Option<String> {
        let mut len = 0;
        // SAFETY: any value may be asked; `len` is the place for the length.
        let start = unsafe { LLVMGetMDString(self.raw(), &raw mut len) };
        // SAFETY: so many bytes, which live as long as the module.
        (!start.is_null() && len > 0).then(|| unsafe { text(start, len as usize) })
    }
}
