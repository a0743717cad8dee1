//! Metadata: debug information, and operands of nodes for which the C interface has no functions.

use std::{ffi::c_char, marker::PhantomData};

use inkwell::llvm_sys::{core::*, debuginfo::*, prelude::*};

use super::handle::{Metadata, ModuleHandle, Value, text};
use crate::llvm::{kinds::MetadataKind, older, raw};

impl<'m> Value<'m> {
    /// The metadata that a value stands for, or that stands for a value.
    pub(in crate::llvm) fn as_metadata(self) -> Option<Metadata<'m>> {
        // SAFETY: any value may be asked.
        Metadata::maybe(unsafe { LLVMValueAsMetadata(self.raw()) })
    }

    /// Operands of the node that a value stands for; none if it stands for something else.
    pub(super) fn node_operands(self) -> Vec<Option<Value<'m>>> {
        if self.as_metadata().is_none_or(|node| !node.kind().is_node()) {
            return Vec::new();
        }
        // SAFETY: a node used as a value.
        let count = unsafe { LLVMGetMDNodeNumOperands(self.raw()) };
        let mut operands = vec![std::ptr::null_mut(); count as usize];
        // SAFETY: as above, and room for so many operands.
        unsafe { LLVMGetMDNodeOperands(self.raw(), operands.as_mut_ptr()) };
        operands.into_iter().map(Value::maybe).collect()
    }

    /// The value that metadata stands for, which is itself used as a value: an operand of a debug call, a module flag.
    pub(in crate::llvm) fn wrapped(self) -> Option<Value<'m>> {
        let kind = self.as_metadata()?.kind();
        let mut found = std::ptr::null_mut();
        if matches!(kind, MetadataKind::Constant | MetadataKind::Local) {
            // SAFETY: metadata that stands for a value, which LLVM gives as its one operand.
            unsafe { LLVMGetMDNodeOperands(self.raw(), &raw mut found) };
        }
        Value::maybe(found)
    }
}

type Text = unsafe extern "C" fn(LLVMMetadataRef, *mut u32) -> *const c_char;

impl<'m> Metadata<'m> {
    pub(in crate::llvm) fn kind(self) -> MetadataKind {
        // SAFETY: any metadata has a kind.
        MetadataKind::from_number(unsafe { raw::LLVMGetMetadataKind(self.raw()) })
    }

    /// The raw handle, for functions that take one kind of node.
    #[track_caller]
    fn checked(self, is_of_that_kind: bool) -> LLVMMetadataRef {
        assert!(is_of_that_kind, "metadata of another kind than is asked for: {:?}", self.kind());
        self.raw()
    }

    fn location(self) -> LLVMMetadataRef {
        self.checked(self.kind() == MetadataKind::Location)
    }

    #[must_use]
    pub fn line(self) -> u32 {
        // SAFETY: a location.
        unsafe { LLVMDILocationGetLine(self.location()) }
    }

    #[must_use]
    pub fn column(self) -> u32 {
        // SAFETY: a location.
        unsafe { LLVMDILocationGetColumn(self.location()) }
    }

    /// The scope of a location.
    #[must_use]
    pub fn scope(self) -> Option<Metadata<'m>> {
        // SAFETY: a location.
        Metadata::maybe(unsafe { LLVMDILocationGetScope(self.location()) })
    }

    /// Where what a location is in was inlined.
    #[must_use]
    pub fn inlined_at(self) -> Option<Metadata<'m>> {
        // SAFETY: a location.
        Metadata::maybe(unsafe { LLVMDILocationGetInlinedAt(self.location()) })
    }

    #[must_use]
    pub fn is_subprogram(self) -> bool {
        self.kind() == MetadataKind::Subprogram
    }

    /// Line of a subprogram's definition.
    #[must_use]
    pub fn subprogram_line(self) -> u32 {
        // SAFETY: a subprogram.
        unsafe { LLVMDISubprogramGetLine(self.checked(self.is_subprogram())) }
    }

    /// Directory and name of the file of a scope.
    #[must_use]
    pub fn scope_file(self) -> Option<(String, String)> {
        let raw = self.kind().is_scope().then_some(self.raw())?;
        // SAFETY: a scope.
        Metadata::maybe(unsafe { LLVMDIScopeGetFile(raw) }).map(Self::file_path)
    }

    fn file_path(self) -> (String, String) {
        let raw = self.checked(self.kind() == MetadataKind::File);
        let part = |get: Text| {
            let mut len = 0;
            // SAFETY: a file; `len` is the place for the length.
            let start = unsafe { get(raw, &raw mut len) };
            // SAFETY: so many bytes, which live as long as the node.
            unsafe { text(start, len as usize) }
        };
        (part(LLVMDIFileGetDirectory), part(LLVMDIFileGetFilename))
    }

    fn variable(self) -> LLVMMetadataRef {
        self.checked(self.kind().is_variable())
    }

    /// Scope of a variable.
    #[must_use]
    pub fn variable_scope(self) -> Option<Metadata<'m>> {
        // SAFETY: a variable.
        Metadata::maybe(unsafe { LLVMDIVariableGetScope(self.variable()) })
    }

    /// Directory and name of the file that declares a variable.
    #[must_use]
    pub fn variable_file(self) -> Option<(String, String)> {
        // SAFETY: a variable.
        Metadata::maybe(unsafe { LLVMDIVariableGetFile(self.variable()) }).map(Self::file_path)
    }

    /// Line of a variable's declaration.
    #[must_use]
    pub fn variable_line(self) -> u32 {
        // SAFETY: a variable.
        unsafe { LLVMDIVariableGetLine(self.variable()) }
    }

    /// DWARF tag of a type or member; 0 for other nodes.
    #[must_use]
    pub fn tag(self) -> u16 {
        use MetadataKind as K;
        let has_tag = matches!(self.kind(), K::BasicType | K::DerivedType | K::CompositeType);
        // SAFETY: a node with a tag.
        if has_tag { unsafe { LLVMGetDINodeTag(self.raw()) } } else { 0 }
    }

    /// Name of a type or member; empty if it has none.
    #[must_use]
    pub fn type_name(self) -> String {
        let mut len = 0;
        // SAFETY: a type or member; `len` is the place for the length.
        let start = unsafe { LLVMDITypeGetName(self.checked(self.kind().is_type()), &raw mut len) };
        // SAFETY: so many bytes, which live as long as the node.
        unsafe { text(start, len) }
    }

    /// Size of a type or member in bits.
    #[must_use]
    pub fn type_bits(self) -> u64 {
        // SAFETY: a type or member.
        unsafe { LLVMDITypeGetSizeInBits(self.checked(self.kind().is_type())) }
    }

    /// Offset of a member in bits.
    #[must_use]
    pub fn offset_bits(self) -> u64 {
        // SAFETY: a type or member.
        unsafe { LLVMDITypeGetOffsetInBits(self.checked(self.kind().is_type())) }
    }
}

/// Reads operands of debug-info nodes, for which the C interface has no accessors.
#[derive(Clone, Copy)]
pub struct Nodes<'m>(LLVMContextRef, PhantomData<&'m ()>);

impl<'m> Nodes<'m> {
    #[must_use]
    pub fn for_module(module: ModuleHandle<'m>) -> Self {
        older::read_nodes_of(module.context());
        Self(module.context(), PhantomData)
    }

    fn values(self, node: Metadata<'m>) -> Vec<Option<Value<'m>>> {
        // SAFETY: metadata of the context.
        Value::new(unsafe { LLVMMetadataAsValue(self.0, node.raw()) }).node_operands()
    }

    fn operands(self, node: Metadata<'m>) -> Vec<Option<Metadata<'m>>> {
        self.values(node).into_iter().map(|operand| operand?.as_metadata()).collect()
    }

    fn operand(self, node: Metadata<'m>, index: usize) -> Option<Value<'m>> {
        self.values(node).get(index).copied().flatten()
    }

    fn node(self, node: Metadata<'m>, index: usize) -> Option<Metadata<'m>> {
        self.operand(node, index)?.as_metadata()
    }

    /// Operands of a type after those of every scope and type (file, scope, name). Since LLVM 21 its size and offset
    /// come first among them, which are constants.
    fn own_operands(self, ty: Metadata<'m>) -> Vec<Metadata<'m>> {
        self.operands(ty).into_iter().skip(3).flatten().collect()
    }

    /// The type that a derived type, a member or an array is made from.
    #[must_use]
    pub fn base_type(self, of: Metadata<'m>) -> Option<Metadata<'m>> {
        self.own_operands(of).into_iter().find(|node| node.tag() != 0)
    }

    /// The type of a variable (`DIVariable` operand 3).
    #[must_use]
    pub fn variable_type(self, variable: Metadata<'m>) -> Option<Metadata<'m>> {
        self.node(variable, 3)
    }

    /// What a composite type consists of.
    #[must_use]
    pub fn elements(self, composite: Metadata<'m>) -> Vec<Metadata<'m>> {
        let list = self.own_operands(composite).into_iter().find(|node| node.kind() == MetadataKind::Tuple);
        list.map(|list| self.operands(list).into_iter().flatten().collect()).unwrap_or_default()
    }

    /// The type that debug information gives a global variable; none for one that the optimiser made of a part of a
    /// variable.
    #[must_use]
    pub fn global_type(self, global: Value<'m>) -> Option<Metadata<'m>> {
        let is_expression = |node: &Metadata<'_>| node.kind() == MetadataKind::GlobalVariableExpression;
        let expression = global.global_nodes().into_iter().find(is_expression)?;
        if self.operand(expression, 1)?.printed().contains("DW_OP_LLVM_fragment") {
            return None;
        }
        self.variable_type(self.node(expression, 0)?)
    }

    fn string(self, node: Metadata<'m>, index: usize) -> Option<String> {
        self.operand(node, index)?.metadata_string()
    }

    /// Linkage name of a subprogram, or its plain name (`DISubprogram` operands 3 and 2).
    #[must_use]
    pub fn subprogram_name(self, subprogram: Metadata<'m>) -> Option<String> {
        self.string(subprogram, 3).or_else(|| self.string(subprogram, 2))
    }

    /// Name of a variable (`DIVariable` operand 1).
    #[must_use]
    pub fn variable_name(self, variable: Metadata<'m>) -> Option<String> {
        self.string(variable, 1)
    }

    /// The subprogram that encloses a scope (operand 1 of lexical blocks is their parent scope).
    #[must_use]
    pub fn enclosing_subprogram(self, scope: Metadata<'m>) -> Option<Metadata<'m>> {
        let mut scope = scope;
        // The loop is bounded against malformed cyclic metadata.
        for _ in 0..10_000 {
            if scope.is_subprogram() {
                return Some(scope);
            }
            scope = self.node(scope, 1)?;
        }
        None
    }
}
