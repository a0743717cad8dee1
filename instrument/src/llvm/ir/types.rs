//! Types, and how many bytes they take.

use std::marker::PhantomData;

use inkwell::llvm_sys::{core::*, prelude::*, target::*};

use super::handle::{ModuleHandle, Type};
use crate::llvm::kinds::TypeKind;
use crate::llvm::raw;

impl<'m> Type<'m> {
    #[must_use]
    pub fn kind(self) -> TypeKind {
        // SAFETY: any type has a kind.
        TypeKind::from_number(unsafe { raw::LLVMGetTypeKind(self.raw()) })
    }

    /// The raw handle of a type of these kinds.
    #[track_caller]
    fn checked(self, kinds: &[TypeKind]) -> LLVMTypeRef {
        assert!(kinds.contains(&self.kind()), "an LLVM type of another kind than is asked for: {:?}", self.kind());
        self.raw()
    }

    #[must_use]
    pub fn int_width(self) -> Option<u32> {
        // SAFETY: an integer type.
        (self.kind() == TypeKind::Integer).then(|| unsafe { LLVMGetIntTypeWidth(self.raw()) })
    }

    #[must_use]
    pub fn is_sized(self) -> bool {
        // SAFETY: any type may be asked.
        unsafe { LLVMTypeIsSized(self.raw()) != 0 }
    }

    /// Of a pointer.
    #[must_use]
    pub fn address_space(self) -> u32 {
        // SAFETY: a pointer type.
        unsafe { LLVMGetPointerAddressSpace(self.checked(&[TypeKind::Pointer])) }
    }

    /// Element type and count of a fixed vector.
    #[must_use]
    pub fn vector(self) -> Option<(Type<'m>, u32)> {
        // SAFETY: a vector type.
        (self.kind() == TypeKind::Vector).then(|| (self.element(), unsafe { LLVMGetVectorSize(self.raw()) }))
    }

    /// Element type of an array or vector.
    #[must_use]
    pub fn element(self) -> Type<'m> {
        let raw = self.checked(&[TypeKind::Array, TypeKind::Vector, TypeKind::ScalableVector]);
        // SAFETY: a type with elements.
        Type::new(unsafe { LLVMGetElementType(raw) })
    }

    #[must_use]
    pub fn struct_field(self, index: u32) -> Type<'m> {
        assert!(index < self.fields(), "a structure has no field {index}");
        // SAFETY: a structure with a field of that number.
        Type::new(unsafe { LLVMStructGetTypeAtIndex(self.raw(), index) })
    }

    /// Number of fields of a structure.
    #[must_use]
    pub fn fields(self) -> u32 {
        // SAFETY: a structure.
        unsafe { LLVMCountStructElementTypes(self.checked(&[TypeKind::Struct])) }
    }

    /// Number of elements of an array.
    #[must_use]
    pub fn array_len(self) -> u64 {
        // SAFETY: an array.
        unsafe { LLVMGetArrayLength2(self.checked(&[TypeKind::Array])) }
    }

    /// Parameters of a function type.
    #[must_use]
    pub fn parameter_count(self) -> u32 {
        // SAFETY: a function type.
        unsafe { LLVMCountParamTypes(self.checked(&[TypeKind::Function])) }
    }

    #[must_use]
    pub fn contains_scalable(self) -> bool {
        self.kind() == TypeKind::ScalableVector
    }

    /// Element type of a vector, or the type itself.
    #[must_use]
    pub fn scalar(self) -> Type<'m> {
        self.vector().map_or(self, |(element, _)| element)
    }

    #[must_use]
    pub fn is_floating(self) -> bool {
        use TypeKind as K;
        matches!(self.scalar().kind(), K::Half | K::BFloat | K::Float | K::Double | K::X86Fp80 | K::Fp128)
    }

    #[must_use]
    pub fn is_pointer(self) -> bool {
        self.kind() == TypeKind::Pointer
    }

    #[must_use]
    pub fn lanes(self) -> u32 {
        self.vector().map_or(1, |(_, lanes)| lanes)
    }
}

/// How many bytes types take on the module's target.
#[derive(Clone, Copy)]
pub struct Layout<'m>(LLVMTargetDataRef, PhantomData<&'m ()>);

impl<'m> Layout<'m> {
    #[must_use]
    pub fn for_module(module: ModuleHandle<'m>) -> Self {
        // SAFETY: the module owns its layout.
        Self(unsafe { LLVMGetModuleDataLayout(module.raw()) }, PhantomData)
    }

    /// The raw handle of a type that has a size.
    #[track_caller]
    fn sized(ty: Type<'m>) -> LLVMTypeRef {
        assert!(ty.is_sized(), "a type without size");
        ty.raw()
    }

    /// Bytes that a load or store of this type touches.
    #[must_use]
    pub fn store_size(self, ty: Type<'m>) -> u64 {
        // SAFETY: a type with a size.
        unsafe { LLVMStoreSizeOfType(self.0, Self::sized(ty)) }
    }

    /// Distance between consecutive elements of this type.
    #[must_use]
    pub fn alloc_size(self, ty: Type<'m>) -> u64 {
        // SAFETY: a type with a size.
        unsafe { LLVMABISizeOfType(self.0, Self::sized(ty)) }
    }

    /// Bytes from the start of a structure to a field.
    #[must_use]
    pub fn field_offset(self, ty: Type<'m>, index: u32) -> u64 {
        assert!(index < ty.fields(), "a structure has no field {index}");
        // SAFETY: a structure with a size and a field of that number.
        unsafe { LLVMOffsetOfElement(self.0, Self::sized(ty), index) }
    }
}
