//! Copyable handles over LLVM values, blocks, types and metadata.
//!
//! A handle is valid as long as the module it came from; nothing here outlives one [`crate::instrument_file`] call, which
//! keeps the module alive from parsing to emission. That is the safety argument of every call in this file, made once by
//! the `ffi!` macro. The only values ever erased are phis that `redirect_phis` has just replaced, before anything was planned.

use std::ffi::{CStr, CString, c_char};

use inkwell::llvm_sys::{self, core::*, debuginfo::*, prelude::*, target::*};
pub use inkwell::llvm_sys::{
    LLVMAtomicOrdering, LLVMAtomicRMWBinOp as AtomicOperation, LLVMCallConv, LLVMIntPredicate as IntPredicate,
    LLVMLinkage as Linkage, LLVMOpcode as Opcode, LLVMRealPredicate as RealPredicate, LLVMTailCallKind,
    LLVMTypeKind as TypeKind,
};

use super::older;

macro_rules! ffi {
    ($call:expr) => {{
        // SAFETY: all handles belong to the live module (see the file's head); the function has no other precondition than
        // the kind of value, which the caller of this wrapper has checked by opcode or constructed.
        unsafe { $call }
    }};
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Value(pub(super) LLVMValueRef);
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Block(LLVMBasicBlockRef);
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Type(LLVMTypeRef);
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Metadata(pub(super) LLVMMetadataRef);
#[derive(Clone, Copy)]
pub struct Layout(LLVMTargetDataRef);

fn text(start: *const c_char, len: usize) -> String {
    if start.is_null() {
        return String::new();
    }
    // SAFETY: LLVM returned `len` readable bytes at `start`, owned by the live module.
    String::from_utf8_lossy(unsafe { std::slice::from_raw_parts(start.cast::<u8>(), len) }).into_owned()
}

pub(super) fn value(raw: LLVMValueRef) -> Option<Value> {
    (!raw.is_null()).then_some(Value(raw))
}

pub(super) fn metadata(raw: LLVMMetadataRef) -> Option<Metadata> {
    (!raw.is_null()).then_some(Metadata(raw))
}

/// Number of an enum attribute, to ask for it on functions and call sites.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct AttributeKind(u32);

impl AttributeKind {
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self(ffi!(LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len())))
    }

    /// Whether the LLVM in use has an attribute of the name; others must not be asked for.
    #[must_use]
    pub fn is_known(self) -> bool {
        self.0 != 0
    }
}

impl Value {
    #[must_use]
    pub fn name(self) -> String {
        let mut len = 0;
        let start = ffi!(LLVMGetValueName2(self.0, &raw mut len));
        text(start, len)
    }

    #[must_use]
    pub fn ty(self) -> Type {
        Type(ffi!(LLVMTypeOf(self.0)))
    }

    #[must_use]
    pub fn opcode(self) -> Opcode {
        ffi!(LLVMGetInstructionOpcode(self.0))
    }

    #[must_use]
    pub fn is_instruction(self) -> bool {
        !ffi!(LLVMIsAInstruction(self.0)).is_null()
    }

    /// Opcode of an instruction or constant expression.
    #[must_use]
    pub fn any_opcode(self) -> Option<Opcode> {
        if self.is_instruction() {
            Some(self.opcode())
        } else if !ffi!(LLVMIsAConstantExpr(self.0)).is_null() {
            Some(ffi!(LLVMGetConstOpcode(self.0)))
        } else {
            None
        }
    }

    #[must_use]
    pub fn operand(self, index: u32) -> Value {
        Value(ffi!(LLVMGetOperand(self.0, index)))
    }

    #[must_use]
    pub fn operands(self) -> u32 {
        ffi!(LLVMGetNumOperands(self.0)) as u32
    }

    #[must_use]
    pub fn block(self) -> Block {
        Block(ffi!(LLVMGetInstructionParent(self.0)))
    }

    /// Users of this value.
    #[must_use]
    pub fn users(self) -> Vec<Value> {
        let mut users = Vec::new();
        let mut next = ffi!(LLVMGetFirstUse(self.0));
        while !next.is_null() {
            users.push(Value(ffi!(LLVMGetUser(next))));
            next = ffi!(LLVMGetNextUse(next));
        }
        users
    }

    /// The value of an integer constant of at most 64 bits, sign-extended.
    #[must_use]
    pub fn as_signed_constant(self) -> Option<i64> {
        if ffi!(LLVMIsAConstantInt(self.0)).is_null() || self.ty().int_width().is_none_or(|w| w > 64) {
            return None;
        }
        Some(ffi!(LLVMConstIntGetSExtValue(self.0)))
    }

    #[must_use]
    pub fn is_constant(self) -> bool {
        ffi!(LLVMIsConstant(self.0)) != 0
    }

    #[must_use]
    pub fn is_function(self) -> bool {
        !ffi!(LLVMIsAFunction(self.0)).is_null()
    }

    #[must_use]
    pub fn is_global_variable(self) -> bool {
        !ffi!(LLVMIsAGlobalVariable(self.0)).is_null()
    }

    #[must_use]
    pub fn is_inline_asm(self) -> bool {
        !ffi!(LLVMIsAInlineAsm(self.0)).is_null()
    }

    #[must_use]
    pub fn is_volatile(self) -> bool {
        ffi!(LLVMGetVolatile(self.0)) != 0
    }

    #[must_use]
    pub fn is_atomic(self) -> bool {
        ffi!(LLVMIsAtomic(self.0)) != 0
    }

    #[must_use]
    pub fn allocated_type(self) -> Type {
        Type(ffi!(LLVMGetAllocatedType(self.0)))
    }

    #[must_use]
    pub fn gep_source_type(self) -> Type {
        Type(ffi!(LLVMGetGEPSourceElementType(self.0)))
    }

    #[must_use]
    pub fn debug_location(self) -> Option<Metadata> {
        metadata(ffi!(LLVMInstructionGetDebugLoc(self.0)))
    }

    /// Where the source has the loop that this branch closes: the first location in its `llvm.loop` metadata.
    #[must_use]
    pub fn loop_start(self) -> Option<Metadata> {
        const KIND: &str = "llvm.loop";
        let context = ffi!(LLVMGetTypeContext(LLVMTypeOf(self.0)));
        let kind = ffi!(LLVMGetMDKindIDInContext(context, KIND.as_ptr().cast(), KIND.len() as u32));
        let node = value(ffi!(LLVMGetMetadata(self.0, kind)))?;
        let mut operands = vec![std::ptr::null_mut(); ffi!(LLVMGetMDNodeNumOperands(node.0)) as usize];
        ffi!(LLVMGetMDNodeOperands(node.0, operands.as_mut_ptr()));
        let nodes = operands.into_iter().filter_map(value).filter_map(|o| metadata(ffi!(LLVMValueAsMetadata(o.0))));
        nodes
            .into_iter()
            .find(|node| matches!(ffi!(LLVMGetMetadataKind(node.0)), LLVMMetadataKind::LLVMDILocationMetadataKind))
    }

    #[must_use]
    pub fn incoming(self) -> Vec<(Value, Block)> {
        (0..ffi!(LLVMCountIncoming(self.0)))
            .map(|i| (Value(ffi!(LLVMGetIncomingValue(self.0, i))), Block(ffi!(LLVMGetIncomingBlock(self.0, i)))))
            .collect()
    }

    /// Predicate of an `icmp`.
    #[must_use]
    pub fn int_predicate(self) -> IntPredicate {
        ffi!(LLVMGetICmpPredicate(self.0))
    }

    /// Predicate of an `fcmp`.
    #[must_use]
    pub fn real_predicate(self) -> RealPredicate {
        ffi!(LLVMGetFCmpPredicate(self.0))
    }

    /// Operation of an `atomicrmw`.
    #[must_use]
    pub fn atomic_operation(self) -> AtomicOperation {
        ffi!(LLVMGetAtomicRMWBinOp(self.0))
    }

    /// Lanes that a `shufflevector` takes, in order; `None` for lanes that may be anything.
    #[must_use]
    pub fn shuffle_mask(self) -> Vec<Option<u32>> {
        (0..ffi!(LLVMGetNumMaskElements(self.0)))
            .map(|i| u32::try_from(ffi!(LLVMGetMaskValue(self.0, i))).ok())
            .collect()
    }

    /// Indices of an `extractvalue` or `insertvalue`.
    #[must_use]
    pub fn indices(self) -> Vec<u32> {
        let count = ffi!(LLVMGetNumIndices(self.0)) as usize;
        let start = ffi!(LLVMGetIndices(self.0));
        // SAFETY: LLVM returns as many indices as it has just counted, owned by the live instruction.
        if count == 0 { Vec::new() } else { unsafe { std::slice::from_raw_parts(start, count) }.to_vec() }
    }

    #[must_use]
    pub fn is_disjoint_or(self) -> bool {
        self.opcode() == Opcode::LLVMOr && ffi!(LLVMGetIsDisjoint(self.0)) != 0
    }
}

/// Calls and invokes.
impl Value {
    #[must_use]
    pub fn callee(self) -> Value {
        Value(ffi!(LLVMGetCalledValue(self.0)))
    }

    #[must_use]
    pub fn arguments(self) -> u32 {
        ffi!(LLVMGetNumArgOperands(self.0))
    }

    #[must_use]
    pub fn is_must_tail(self) -> bool {
        self.opcode() == Opcode::LLVMCall
            && ffi!(LLVMGetTailCallKind(self.0)) == LLVMTailCallKind::LLVMTailCallKindMustTail
    }

    #[must_use]
    pub fn call_has_attribute(self, kind: AttributeKind) -> bool {
        let on_site = ffi!(LLVMGetCallSiteEnumAttribute(self.0, llvm_sys::LLVMAttributeFunctionIndex, kind.0));
        !on_site.is_null() || (self.callee().is_function() && self.callee().has_attribute(kind))
    }

    /// The function type that a call goes by.
    #[must_use]
    pub fn called_type(self) -> Type {
        Type(ffi!(LLVMGetCalledFunctionType(self.0)))
    }

    /// The type of a `byval` argument, if it is one.
    #[must_use]
    pub fn byval_argument(self, index: u32, kind: AttributeKind) -> Option<Type> {
        let attribute = ffi!(LLVMGetCallSiteEnumAttribute(self.0, index + 1, kind.0));
        (!attribute.is_null()).then(|| Type(ffi!(LLVMGetTypeAttributeValue(attribute))))
    }

    /// Where an invoke continues when the call returns.
    #[must_use]
    pub fn successors_normal(self) -> Block {
        Block(ffi!(LLVMGetNormalDest(self.0)))
    }

    pub fn set_normal_destination(self, block: Block) {
        ffi!(LLVMSetNormalDest(self.0, block.0));
    }

    /// Text of the constraints of an inline assembly callee.
    #[must_use]
    pub fn asm_constraints(self) -> String {
        let mut len = 0;
        let start = ffi!(LLVMGetInlineAsmConstraintString(self.callee().0, &raw mut len));
        text(start, len)
    }
}

/// Functions and globals.
impl Value {
    /// Has the module emit the body that it has of a function that another module defines too, for itself.
    pub fn emit_own_copy(self) {
        ffi!(LLVMSetLinkage(self.0, Linkage::LLVMLinkOnceODRLinkage));
        ffi!(LLVMSetVisibility(self.0, llvm_sys::LLVMVisibility::LLVMHiddenVisibility));
    }

    /// A global variable that nobody writes.
    #[must_use]
    pub fn is_constant_variable(self) -> bool {
        self.is_global_variable() && ffi!(LLVMIsGlobalConstant(self.0)) != 0
    }

    #[must_use]
    pub fn is_null_pointer(self) -> bool {
        !ffi!(LLVMIsAConstantPointerNull(self.0)).is_null()
    }

    #[must_use]
    pub fn is_declaration(self) -> bool {
        ffi!(LLVMIsDeclaration(self.0)) != 0
    }

    #[must_use]
    pub fn linkage(self) -> Linkage {
        ffi!(LLVMGetLinkage(self.0))
    }

    #[must_use]
    pub fn has_attribute(self, kind: AttributeKind) -> bool {
        !ffi!(LLVMGetEnumAttributeAtIndex(self.0, llvm_sys::LLVMAttributeFunctionIndex, kind.0)).is_null()
    }

    /// Integer value of a function attribute such as `memory(...)`.
    #[must_use]
    pub fn attribute_value(self, kind: AttributeKind) -> Option<u64> {
        let attribute = ffi!(LLVMGetEnumAttributeAtIndex(self.0, llvm_sys::LLVMAttributeFunctionIndex, kind.0));
        (!attribute.is_null()).then(|| ffi!(LLVMGetEnumAttributeValue(attribute)))
    }

    #[must_use]
    pub fn has_string_attribute(self, name: &str) -> bool {
        let found = ffi!(LLVMGetStringAttributeAtIndex(
            self.0,
            llvm_sys::LLVMAttributeFunctionIndex,
            name.as_ptr().cast(),
            name.len() as u32
        ));
        !found.is_null()
    }

    #[must_use]
    pub fn parameter_byval(self, index: u32, kind: AttributeKind) -> Option<Type> {
        let attribute = ffi!(LLVMGetEnumAttributeAtIndex(self.0, index + 1, kind.0));
        (!attribute.is_null()).then(|| Type(ffi!(LLVMGetTypeAttributeValue(attribute))))
    }

    #[must_use]
    pub fn parameters(self) -> Vec<Value> {
        (0..ffi!(LLVMCountParams(self.0))).map(|i| Value(ffi!(LLVMGetParam(self.0, i)))).collect()
    }

    #[must_use]
    pub fn blocks(self) -> Vec<Block> {
        let mut blocks = Vec::new();
        let mut next = ffi!(LLVMGetFirstBasicBlock(self.0));
        while !next.is_null() {
            blocks.push(Block(next));
            next = ffi!(LLVMGetNextBasicBlock(next));
        }
        blocks
    }

    #[must_use]
    pub fn subprogram(self) -> Option<Metadata> {
        metadata(ffi!(LLVMGetSubprogram(self.0)))
    }

    /// Name of an intrinsic (`llvm.memcpy.p0.p0.i64`), if this is one.
    #[must_use]
    pub fn intrinsic_name(self) -> Option<String> {
        (self.is_function() && ffi!(LLVMGetIntrinsicID(self.0)) != 0).then(|| self.name())
    }

    pub fn set_section(self, section: &str) {
        let section = CString::new(section).expect("section names have no NUL");
        ffi!(LLVMSetSection(self.0, section.as_ptr()));
    }

    #[must_use]
    pub fn has_section(self) -> bool {
        let section = ffi!(LLVMGetSection(self.0));
        // SAFETY: LLVM returns null or a C string that lives as long as the global.
        !section.is_null() && !unsafe { CStr::from_ptr(section) }.is_empty()
    }

    pub fn copy_comdat_from(self, other: Value) {
        let comdat = ffi!(llvm_sys::comdat::LLVMGetComdat(other.0));
        if !comdat.is_null() {
            ffi!(llvm_sys::comdat::LLVMSetComdat(self.0, comdat));
        }
    }

    #[must_use]
    pub fn has_comdat(self) -> bool {
        !ffi!(llvm_sys::comdat::LLVMGetComdat(self.0)).is_null()
    }

    /// The signature of a function.
    #[must_use]
    pub fn function_type(self) -> Type {
        Type(ffi!(LLVMGlobalGetValueType(self.0)))
    }

    /// Redirects every use of one function to another of the same type.
    pub fn replace_all_uses_with(self, other: Value) {
        ffi!(LLVMReplaceAllUsesWith(self.0, other.0));
    }
}

impl Block {
    #[must_use]
    pub fn instructions(self) -> Vec<Value> {
        let mut list = Vec::new();
        let mut next = ffi!(LLVMGetFirstInstruction(self.0));
        while let Some(instruction) = value(next) {
            list.push(instruction);
            next = ffi!(LLVMGetNextInstruction(next));
        }
        list
    }

    #[must_use]
    pub fn terminator(self) -> Option<Value> {
        value(ffi!(LLVMGetBasicBlockTerminator(self.0)))
    }

    /// Number of edges into this block.
    #[must_use]
    pub fn predecessors(self) -> usize {
        Value(ffi!(LLVMBasicBlockAsValue(self.0))).users().len()
    }

    /// Where the edges into this block come from, one entry per edge.
    #[must_use]
    pub fn predecessor_blocks(self) -> Vec<Block> {
        let users = Value(ffi!(LLVMBasicBlockAsValue(self.0))).users();
        users.into_iter().filter(|user| user.is_instruction()).map(Value::block).collect()
    }

    /// Leads the edges of the terminator that go to `old` to `new` instead.
    pub fn redirect_successors(self, old: Block, new: Block) {
        let Some(end) = self.terminator() else { return };
        for (number, successor) in (0..).zip(self.successors()) {
            if successor == old {
                ffi!(LLVMSetSuccessor(end.0, number, new.0));
            }
        }
    }

    /// The first instruction that is no phi.
    #[must_use]
    pub fn first_after_phis(self) -> Value {
        let first = self.instructions().into_iter().find(|i| i.opcode() != Opcode::LLVMPHI);
        first.expect("every block ends in a terminator")
    }

    /// Makes the phis of this block name `new` instead of `old`. The C interface cannot change an incoming block, so each
    /// phi is replaced by a copy.
    pub fn redirect_phis(self, builder: &Builder, old: Block, new: Block) {
        for phi in self.instructions().into_iter().take_while(|i| i.opcode() == Opcode::LLVMPHI) {
            let incoming: Vec<(Value, Block)> =
                phi.incoming().into_iter().map(|(v, b)| (v, if b == old { new } else { b })).collect();
            builder.before(phi);
            let copy = builder.phi(phi.ty(), &incoming);
            phi.replace_all_uses_with(copy);
            ffi!(LLVMInstructionEraseFromParent(phi.0));
        }
    }

    #[must_use]
    pub fn successors(self) -> Vec<Block> {
        let Some(end) = self.terminator() else { return Vec::new() };
        (0..ffi!(LLVMGetNumSuccessors(end.0))).map(|i| Block(ffi!(LLVMGetSuccessor(end.0, i)))).collect()
    }
}

impl Type {
    #[must_use]
    pub fn kind(self) -> TypeKind {
        ffi!(LLVMGetTypeKind(self.0))
    }

    #[must_use]
    pub fn int_width(self) -> Option<u32> {
        (self.kind() == TypeKind::LLVMIntegerTypeKind).then(|| ffi!(LLVMGetIntTypeWidth(self.0)))
    }

    #[must_use]
    pub fn is_sized(self) -> bool {
        ffi!(LLVMTypeIsSized(self.0)) != 0
    }

    #[must_use]
    pub fn address_space(self) -> u32 {
        ffi!(LLVMGetPointerAddressSpace(self.0))
    }

    /// Element type and count of a fixed vector.
    #[must_use]
    pub fn vector(self) -> Option<(Type, u32)> {
        (self.kind() == TypeKind::LLVMVectorTypeKind)
            .then(|| (Type(ffi!(LLVMGetElementType(self.0))), ffi!(LLVMGetVectorSize(self.0))))
    }

    #[must_use]
    pub fn element(self) -> Type {
        Type(ffi!(LLVMGetElementType(self.0)))
    }

    #[must_use]
    pub fn struct_field(self, index: u32) -> Type {
        Type(ffi!(LLVMStructGetTypeAtIndex(self.0, index)))
    }

    /// Number of fields of a structure.
    #[must_use]
    pub fn fields(self) -> u32 {
        ffi!(LLVMCountStructElementTypes(self.0))
    }

    /// Number of elements of an array.
    #[must_use]
    pub fn array_len(self) -> u64 {
        ffi!(LLVMGetArrayLength2(self.0))
    }

    /// Parameters of a function type.
    #[must_use]
    pub fn parameter_count(self) -> u32 {
        ffi!(LLVMCountParamTypes(self.0))
    }

    #[must_use]
    pub fn contains_scalable(self) -> bool {
        self.kind() == TypeKind::LLVMScalableVectorTypeKind
    }

    /// Element type of a vector, or the type itself.
    #[must_use]
    pub fn scalar(self) -> Type {
        self.vector().map_or(self, |(element, _)| element)
    }

    #[must_use]
    pub fn is_floating(self) -> bool {
        matches!(
            self.scalar().kind(),
            TypeKind::LLVMHalfTypeKind
                | TypeKind::LLVMBFloatTypeKind
                | TypeKind::LLVMFloatTypeKind
                | TypeKind::LLVMDoubleTypeKind
                | TypeKind::LLVMX86_FP80TypeKind
                | TypeKind::LLVMFP128TypeKind
        )
    }

    #[must_use]
    pub fn is_pointer(self) -> bool {
        self.kind() == TypeKind::LLVMPointerTypeKind
    }

    #[must_use]
    pub fn lanes(self) -> u32 {
        self.vector().map_or(1, |(_, lanes)| lanes)
    }
}

impl Layout {
    #[must_use]
    pub fn of_module(module: &inkwell::module::Module<'_>) -> Self {
        Self(ffi!(LLVMGetModuleDataLayout(module.as_mut_ptr())))
    }

    /// Bytes that a load or store of this type touches.
    #[must_use]
    pub fn store_size(self, ty: Type) -> u64 {
        ffi!(LLVMStoreSizeOfType(self.0, ty.0))
    }

    /// Distance between consecutive elements of this type.
    #[must_use]
    pub fn alloc_size(self, ty: Type) -> u64 {
        ffi!(LLVMABISizeOfType(self.0, ty.0))
    }

    #[must_use]
    pub fn field_offset(self, ty: Type, index: u32) -> u64 {
        ffi!(LLVMOffsetOfElement(self.0, ty.0, index))
    }
}

/// Debug information.
impl Metadata {
    #[must_use]
    pub fn line(self) -> u32 {
        ffi!(LLVMDILocationGetLine(self.0))
    }

    #[must_use]
    pub fn column(self) -> u32 {
        ffi!(LLVMDILocationGetColumn(self.0))
    }

    #[must_use]
    pub fn scope(self) -> Option<Metadata> {
        metadata(ffi!(LLVMDILocationGetScope(self.0)))
    }

    #[must_use]
    pub fn inlined_at(self) -> Option<Metadata> {
        metadata(ffi!(LLVMDILocationGetInlinedAt(self.0)))
    }

    #[must_use]
    pub fn is_subprogram(self) -> bool {
        matches!(ffi!(LLVMGetMetadataKind(self.0)), LLVMMetadataKind::LLVMDISubprogramMetadataKind)
    }

    /// Line of a subprogram's definition.
    #[must_use]
    pub fn subprogram_line(self) -> u32 {
        ffi!(LLVMDISubprogramGetLine(self.0))
    }

    /// Directory and name of the file of a scope.
    #[must_use]
    pub fn scope_file(self) -> Option<(String, String)> {
        metadata(ffi!(LLVMDIScopeGetFile(self.0))).map(Self::file_path)
    }

    fn file_path(self) -> (String, String) {
        let mut len = 0;
        let start = ffi!(LLVMDIFileGetDirectory(self.0, &raw mut len));
        let directory = text(start, len as usize);
        let start = ffi!(LLVMDIFileGetFilename(self.0, &raw mut len));
        (directory, text(start, len as usize))
    }

    /// Scope of a variable.
    #[must_use]
    pub fn variable_scope(self) -> Option<Metadata> {
        metadata(ffi!(LLVMDIVariableGetScope(self.0)))
    }

    /// Directory and name of the file that declares a variable.
    #[must_use]
    pub fn variable_file(self) -> Option<(String, String)> {
        metadata(ffi!(LLVMDIVariableGetFile(self.0))).map(Self::file_path)
    }

    /// Line of a variable's declaration.
    #[must_use]
    pub fn variable_line(self) -> u32 {
        ffi!(LLVMDIVariableGetLine(self.0))
    }

    /// DWARF tag of a debug node; 0 for other nodes.
    #[must_use]
    pub fn tag(self) -> u16 {
        use LLVMMetadataKind::*;
        let has_tag = matches!(
            ffi!(LLVMGetMetadataKind(self.0)),
            LLVMDIBasicTypeMetadataKind | LLVMDIDerivedTypeMetadataKind | LLVMDICompositeTypeMetadataKind
        );
        if has_tag { ffi!(LLVMGetDINodeTag(self.0)) } else { 0 }
    }

    /// Name of a type or member; empty if it has none.
    #[must_use]
    pub fn type_name(self) -> String {
        let mut len = 0;
        let start = ffi!(LLVMDITypeGetName(self.0, &raw mut len));
        text(start, len)
    }

    /// Size of a type or member in bits.
    #[must_use]
    pub fn type_bits(self) -> u64 {
        ffi!(LLVMDITypeGetSizeInBits(self.0))
    }

    /// Offset of a member in bits.
    #[must_use]
    pub fn offset_bits(self) -> u64 {
        ffi!(LLVMDITypeGetOffsetInBits(self.0))
    }
}

/// Reads operands of debug-info nodes, for which the C interface has no accessors.
#[derive(Clone, Copy)]
pub struct Nodes(LLVMContextRef);

impl Nodes {
    #[must_use]
    pub fn of_module(module: &inkwell::module::Module<'_>) -> Self {
        let context = ffi!(LLVMGetModuleContext(module.as_mut_ptr()));
        older::read_nodes_of(context);
        Self(context)
    }

    fn operands(self, node: Metadata) -> Vec<Option<Metadata>> {
        let node = ffi!(LLVMMetadataAsValue(self.0, node.0));
        let mut operands = vec![std::ptr::null_mut(); ffi!(LLVMGetMDNodeNumOperands(node)) as usize];
        ffi!(LLVMGetMDNodeOperands(node, operands.as_mut_ptr()));
        operands.into_iter().map(|o| metadata(ffi!(LLVMValueAsMetadata(value(o)?.0)))).collect()
    }

    fn operand(self, node: Metadata, index: usize) -> Option<Value> {
        let node = ffi!(LLVMMetadataAsValue(self.0, node.0));
        let mut operands = vec![std::ptr::null_mut(); ffi!(LLVMGetMDNodeNumOperands(node)) as usize];
        ffi!(LLVMGetMDNodeOperands(node, operands.as_mut_ptr()));
        operands.get(index).copied().and_then(value)
    }

    fn node(self, node: Metadata, index: usize) -> Option<Metadata> {
        metadata(ffi!(LLVMValueAsMetadata(self.operand(node, index)?.0)))
    }

    /// Operands of a type after those of every scope and type (file, scope, name). Since LLVM 21 its size and offset come first among them,
    /// which are constants.
    fn own_operands(self, ty: Metadata) -> Vec<Metadata> {
        self.operands(ty).into_iter().skip(3).flatten().collect()
    }

    /// The type that a derived type, a member or an array is made from.
    #[must_use]
    pub fn base_type(self, of: Metadata) -> Option<Metadata> {
        self.own_operands(of).into_iter().find(|node| node.tag() != 0)
    }

    /// The type of a variable (`DIVariable` operand 3).
    #[must_use]
    pub fn variable_type(self, variable: Metadata) -> Option<Metadata> {
        self.node(variable, 3)
    }

    /// What a composite type consists of.
    #[must_use]
    pub fn elements(self, composite: Metadata) -> Vec<Metadata> {
        let is_list =
            |node: &Metadata| matches!(ffi!(LLVMGetMetadataKind(node.0)), LLVMMetadataKind::LLVMMDTupleMetadataKind);
        let list = self.own_operands(composite).into_iter().find(is_list);
        list.map(|list| self.operands(list).into_iter().flatten().collect()).unwrap_or_default()
    }

    /// The type that debug information gives a global variable.
    #[must_use]
    pub fn global_type(self, global: Value) -> Option<Metadata> {
        let mut count = 0;
        let entries = ffi!(LLVMGlobalCopyAllMetadata(global.0, &raw mut count));
        let nodes: Vec<LLVMMetadataRef> =
            (0..count as u32).map(|i| ffi!(LLVMValueMetadataEntriesGetMetadata(entries, i))).collect();
        ffi!(LLVMDisposeValueMetadataEntries(entries));
        let is_expression = |node: &Metadata| {
            matches!(ffi!(LLVMGetMetadataKind(node.0)), LLVMMetadataKind::LLVMDIGlobalVariableExpressionMetadataKind)
        };
        let expression = nodes.into_iter().filter_map(metadata).find(is_expression)?;
        self.variable_type(self.node(expression, 0)?)
    }

    fn string(self, node: Metadata, index: usize) -> Option<String> {
        let operand = self.operand(node, index)?;
        let mut len = 0;
        let start = ffi!(LLVMGetMDString(operand.0, &raw mut len));
        (!start.is_null() && len > 0).then(|| text(start, len as usize))
    }

    /// Linkage name of a subprogram, or its plain name (`DISubprogram` operands 3 and 2).
    #[must_use]
    pub fn subprogram_name(self, subprogram: Metadata) -> Option<String> {
        self.string(subprogram, 3).or_else(|| self.string(subprogram, 2))
    }

    /// Name of a variable (`DIVariable` operand 1).
    #[must_use]
    pub fn variable_name(self, variable: Metadata) -> Option<String> {
        self.string(variable, 1)
    }

    /// The subprogram that encloses a scope (operand 1 of lexical blocks is their parent scope).
    #[must_use]
    pub fn enclosing_subprogram(self, scope: Metadata) -> Option<Metadata> {
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

/// Module-level helpers.
#[derive(Clone, Copy)]
pub struct ModuleHandle(LLVMModuleRef, LLVMContextRef);

impl ModuleHandle {
    #[must_use]
    pub fn of(module: &inkwell::module::Module<'_>) -> Self {
        let raw = module.as_mut_ptr();
        Self(raw, ffi!(LLVMGetModuleContext(raw)))
    }

    #[must_use]
    pub fn functions(self) -> Vec<Value> {
        let mut functions = Vec::new();
        let mut next = ffi!(LLVMGetFirstFunction(self.0));
        while let Some(function) = value(next) {
            functions.push(function);
            next = ffi!(LLVMGetNextFunction(next));
        }
        functions
    }

    #[must_use]
    pub fn function(self, name: &str) -> Option<Value> {
        value(ffi!(LLVMGetNamedFunctionWithLength(self.0, name.as_ptr().cast(), name.len())))
    }

    /// Names of the resolvers of all ifuncs.
    #[must_use]
    pub fn ifunc_resolvers(self) -> Vec<Value> {
        let mut resolvers = Vec::new();
        let mut next = ffi!(LLVMGetFirstGlobalIFunc(self.0));
        while !next.is_null() {
            resolvers.extend(value(ffi!(LLVMGetGlobalIFuncResolver(next))));
            next = ffi!(LLVMGetNextGlobalIFunc(next));
        }
        resolvers
    }

    /// Integer module flag such as `PIC Level`.
    #[must_use]
    pub fn flag(self, name: &str) -> Option<i64> {
        let flag = metadata(ffi!(LLVMGetModuleFlag(self.0, name.as_ptr().cast(), name.len())))?;
        let flag = Value(ffi!(LLVMMetadataAsValue(self.1, flag.0)));
        // A flag is `ConstantAsMetadata`; its one operand, seen as a value, is the constant.
        let mut operand = std::ptr::null_mut();
        if ffi!(LLVMGetMDNodeNumOperands(flag.0)) != 1 {
            return None;
        }
        ffi!(LLVMGetMDNodeOperands(flag.0, &raw mut operand));
        value(operand)?.as_signed_constant()
    }

    #[must_use]
    pub fn int_type(self, bits: u32) -> Type {
        Type(ffi!(LLVMIntTypeInContext(self.1, bits)))
    }

    #[must_use]
    pub fn pointer_type(self) -> Type {
        Type(ffi!(LLVMPointerTypeInContext(self.1, 0)))
    }

    #[must_use]
    pub fn void_type(self) -> Type {
        Type(ffi!(LLVMVoidTypeInContext(self.1)))
    }

    #[must_use]
    pub fn function_type(self, result: Type, parameters: &[Type]) -> Type {
        let mut raw: Vec<LLVMTypeRef> = parameters.iter().map(|t| t.0).collect();
        Type(ffi!(LLVMFunctionType(result.0, raw.as_mut_ptr(), raw.len() as u32, 0)))
    }

    /// Declares (or finds) a function.
    #[must_use]
    pub fn declare(self, name: &str, ty: Type) -> Value {
        self.function(name).unwrap_or_else(|| self.add_function(name, ty))
    }

    #[must_use]
    pub fn add_function(self, name: &str, ty: Type) -> Value {
        let name = CString::new(name).expect("symbol names have no NUL");
        Value(ffi!(LLVMAddFunction(self.0, name.as_ptr(), ty.0)))
    }

    /// Adds a function attribute without value.
    pub fn attribute(self, function: Value, name: &str) {
        let attribute = ffi!(LLVMCreateEnumAttribute(self.1, AttributeKind::named(name).0, 0));
        ffi!(LLVMAddAttributeAtIndex(function.0, llvm_sys::LLVMAttributeFunctionIndex, attribute));
    }

    pub fn set_internal(self, global: Value) {
        ffi!(LLVMSetLinkage(global.0, Linkage::LLVMInternalLinkage));
    }

    /// A thread-local pointer with the initial-exec model, defined elsewhere.
    #[must_use]
    pub fn thread_local_pointer(self, name: &str) -> Value {
        let existing = {
            let name = CString::new(name).expect("symbol names have no NUL");
            value(ffi!(LLVMGetNamedGlobal(self.0, name.as_ptr())))
        };
        existing.unwrap_or_else(|| {
            let name = CString::new(name).expect("symbol names have no NUL");
            let global = ffi!(LLVMAddGlobal(self.0, self.pointer_type().0, name.as_ptr()));
            ffi!(LLVMSetThreadLocal(global, 1));
            ffi!(LLVMSetThreadLocalMode(global, llvm_sys::LLVMThreadLocalMode::LLVMInitialExecTLSModel));
            Value(global)
        })
    }

    /// A private constant array of bytes, aligned to 8, in a section.
    #[must_use]
    pub fn bytes(self, name: &str, bytes: &[u8], section: &str) -> Value {
        let name = CString::new(name).expect("symbol names have no NUL");
        let data = ffi!(LLVMConstStringInContext2(self.1, bytes.as_ptr().cast(), bytes.len(), 1));
        let global = ffi!(LLVMAddGlobal(self.0, LLVMTypeOf(data), name.as_ptr()));
        ffi!(LLVMSetInitializer(global, data));
        ffi!(LLVMSetGlobalConstant(global, 1));
        ffi!(LLVMSetLinkage(global, Linkage::LLVMInternalLinkage));
        ffi!(LLVMSetAlignment(global, 8));
        Value(global).set_section(section);
        Value(global)
    }

    /// A private constant pointer in a section of its own (constructor tables).
    #[must_use]
    pub fn pointer_in_section(self, name: &str, target: Value, section: &str) -> Value {
        let name = CString::new(name).expect("symbol names have no NUL");
        let global = ffi!(LLVMAddGlobal(self.0, self.pointer_type().0, name.as_ptr()));
        ffi!(LLVMSetInitializer(global, target.0));
        ffi!(LLVMSetLinkage(global, Linkage::LLVMInternalLinkage));
        ffi!(LLVMSetAlignment(global, 8));
        Value(global).set_section(section);
        Value(global)
    }

    /// Keeps globals without visible uses from being dropped: appends to `llvm.compiler.used`.
    pub fn keep(self, globals: &[Value]) {
        if globals.is_empty() {
            return;
        }
        let mut all: Vec<LLVMValueRef> = Vec::new();
        let old = ffi!(LLVMGetNamedGlobal(self.0, c"llvm.compiler.used".as_ptr()));
        if !old.is_null() {
            let list = ffi!(LLVMGetInitializer(old));
            all.extend((0..ffi!(LLVMGetNumOperands(list)) as u32).map(|i| ffi!(LLVMGetOperand(list, i))));
            ffi!(LLVMDeleteGlobal(old));
        }
        all.extend(globals.iter().map(|g| g.0));
        let list = ffi!(LLVMConstArray2(self.pointer_type().0, all.as_mut_ptr(), all.len() as u64));
        let used = ffi!(LLVMAddGlobal(self.0, LLVMTypeOf(list), c"llvm.compiler.used".as_ptr()));
        ffi!(LLVMSetInitializer(used, list));
        ffi!(LLVMSetLinkage(used, Linkage::LLVMAppendingLinkage));
        Value(used).set_section("llvm.metadata");
    }

    #[must_use]
    pub fn null_pointer(self) -> Value {
        Value(ffi!(LLVMConstNull(self.pointer_type().0)))
    }

    #[must_use]
    pub fn constant(self, bits: u32, number: u64) -> Value {
        Value(ffi!(LLVMConstInt(self.int_type(bits).0, number, 0)))
    }

    /// Constant address `global + offset`.
    #[must_use]
    pub fn address_in(self, global: Value, offset: u64) -> Value {
        let mut index = [self.constant(64, offset).0];
        Value(ffi!(LLVMConstGEP2(self.int_type(8).0, global.0, index.as_mut_ptr(), 1)))
    }

    #[must_use]
    pub fn append_block(self, function: Value, name: &str) -> Block {
        let name = CString::new(name).expect("block names have no NUL");
        Block(ffi!(LLVMAppendBasicBlockInContext(self.1, function.0, name.as_ptr())))
    }

    #[must_use]
    pub fn builder(self) -> Builder {
        Builder { raw: ffi!(LLVMCreateBuilderInContext(self.1)), module: self }
    }
}

/// Calling convention whose callee preserves nearly all registers.
pub const PRESERVE_MOST: u32 = LLVMCallConv::LLVMPreserveMostCallConv as u32;

/// Emits instructions.
pub struct Builder {
    raw: LLVMBuilderRef,
    module: ModuleHandle,
}

impl Drop for Builder {
    fn drop(&mut self) {
        ffi!(LLVMDisposeBuilder(self.raw));
    }
}

const UNNAMED: *const c_char = c"".as_ptr();

impl Builder {
    /// Emits before an instruction, with its debug location.
    pub fn before(&self, instruction: Value) {
        ffi!(LLVMPositionBuilderBefore(self.raw, instruction.0));
        let location = instruction.debug_location().map_or(std::ptr::null_mut(), |l| l.0);
        ffi!(LLVMSetCurrentDebugLocation2(self.raw, location));
    }

    /// Emits phis at the start of a block, before what debuggers are told there.
    pub fn at_start(&self, block: Block) {
        let first = ffi!(LLVMGetFirstInstruction(block.0));
        ffi!(LLVMPositionBuilderBeforeInstrAndDbgRecords(self.raw, first));
        ffi!(LLVMSetCurrentDebugLocation2(self.raw, std::ptr::null_mut()));
    }

    pub fn at_end(&self, block: Block) {
        ffi!(LLVMPositionBuilderAtEnd(self.raw, block.0));
        ffi!(LLVMSetCurrentDebugLocation2(self.raw, std::ptr::null_mut()));
    }

    pub fn debug_location(&self, location: Option<Metadata>) {
        ffi!(LLVMSetCurrentDebugLocation2(self.raw, location.map_or(std::ptr::null_mut(), |l| l.0)));
    }

    #[must_use]
    pub fn load(&self, ty: Type, pointer: Value) -> Value {
        Value(ffi!(LLVMBuildLoad2(self.raw, ty.0, pointer.0, UNNAMED)))
    }

    pub fn store(&self, what: Value, pointer: Value) {
        ffi!(LLVMBuildStore(self.raw, what.0, pointer.0));
    }

    pub fn store_release(&self, what: Value, pointer: Value) {
        let store = ffi!(LLVMBuildStore(self.raw, what.0, pointer.0));
        ffi!(LLVMSetOrdering(store, LLVMAtomicOrdering::LLVMAtomicOrderingRelease));
        ffi!(LLVMSetAlignment(store, 8));
    }

    #[must_use]
    pub fn offset(&self, pointer: Value, bytes: u64) -> Value {
        if bytes == 0 {
            return pointer;
        }
        let mut index = [self.module.constant(64, bytes).0];
        Value(ffi!(LLVMBuildGEP2(self.raw, self.module.int_type(8).0, pointer.0, index.as_mut_ptr(), 1, UNNAMED)))
    }

    #[must_use]
    pub fn greater(&self, a: Value, b: Value) -> Value {
        Value(ffi!(LLVMBuildICmp(self.raw, llvm_sys::LLVMIntPredicate::LLVMIntUGT, a.0, b.0, UNNAMED)))
    }

    pub fn branch_if(&self, condition: Value, then: Block, otherwise: Block) {
        ffi!(LLVMBuildCondBr(self.raw, condition.0, then.0, otherwise.0));
    }

    pub fn branch(&self, to: Block) {
        ffi!(LLVMBuildBr(self.raw, to.0));
    }

    #[must_use]
    pub fn phi(&self, ty: Type, incoming: &[(Value, Block)]) -> Value {
        let phi = ffi!(LLVMBuildPhi(self.raw, ty.0, UNNAMED));
        let mut values: Vec<LLVMValueRef> = incoming.iter().map(|(v, _)| v.0).collect();
        let mut blocks: Vec<LLVMBasicBlockRef> = incoming.iter().map(|(_, b)| b.0).collect();
        ffi!(LLVMAddIncoming(phi, values.as_mut_ptr(), blocks.as_mut_ptr(), values.len() as u32));
        Value(phi)
    }

    /// Adds an edge to a phi.
    pub fn add_incoming(&self, phi: Value, value: Value, from: Block) {
        let (mut value, mut from) = (value.0, from.0);
        ffi!(LLVMAddIncoming(phi.0, &mut value, &mut from, 1));
    }

    pub fn call(&self, ty: Type, function: Value, arguments: &[Value]) -> Value {
        let mut raw: Vec<LLVMValueRef> = arguments.iter().map(|a| a.0).collect();
        Value(ffi!(LLVMBuildCall2(self.raw, ty.0, function.0, raw.as_mut_ptr(), raw.len() as u32, UNNAMED)))
    }

    pub fn call_preserving_most(&self, ty: Type, function: Value, arguments: &[Value]) -> Value {
        let call = self.call(ty, function, arguments);
        ffi!(LLVMSetInstructionCallConv(call.0, PRESERVE_MOST));
        call
    }

    /// Any integer, pointer or vector of `i1` as a 64-bit word (zero-extended; wider masks are refused by the planner).
    #[must_use]
    pub fn word(&self, what: Value) -> Value {
        let i64_type = self.module.int_type(64);
        match what.ty().kind() {
            TypeKind::LLVMPointerTypeKind => Value(ffi!(LLVMBuildPtrToInt(self.raw, what.0, i64_type.0, UNNAMED))),
            TypeKind::LLVMVectorTypeKind => {
                let bits = self.module.int_type(what.ty().lanes());
                let mask = Value(ffi!(LLVMBuildBitCast(self.raw, what.0, bits.0, UNNAMED)));
                self.word(mask)
            }
            _ if what.ty() == i64_type => what,
            _ => Value(ffi!(LLVMBuildIntCast2(self.raw, what.0, i64_type.0, 0, UNNAMED))),
        }
    }

    /// As [`Builder::word`], sign-extending.
    #[must_use]
    pub fn signed_word(&self, what: Value) -> Value {
        if what.ty().is_pointer() {
            return self.word(what);
        }
        Value(ffi!(LLVMBuildIntCast2(self.raw, what.0, self.module.int_type(64).0, 1, UNNAMED)))
    }

    #[must_use]
    pub fn lane(&self, vector: Value, lane: u32) -> Value {
        Value(ffi!(LLVMBuildExtractElement(self.raw, vector.0, self.module.constant(32, u64::from(lane)).0, UNNAMED)))
    }

    #[must_use]
    pub fn add(&self, a: Value, b: Value) -> Value {
        Value(ffi!(LLVMBuildAdd(self.raw, a.0, b.0, UNNAMED)))
    }

    #[must_use]
    pub fn subtract(&self, a: Value, b: Value) -> Value {
        Value(ffi!(LLVMBuildSub(self.raw, a.0, b.0, UNNAMED)))
    }

    #[must_use]
    pub fn multiply(&self, a: Value, b: Value) -> Value {
        Value(ffi!(LLVMBuildMul(self.raw, a.0, b.0, UNNAMED)))
    }

    #[must_use]
    pub fn shift_left(&self, a: Value, b: Value) -> Value {
        Value(ffi!(LLVMBuildShl(self.raw, a.0, b.0, UNNAMED)))
    }

    #[must_use]
    pub fn divide_unsigned(&self, a: Value, b: Value) -> Value {
        Value(ffi!(LLVMBuildUDiv(self.raw, a.0, b.0, UNNAMED)))
    }

    pub fn return_void(&self) {
        ffi!(LLVMBuildRetVoid(self.raw));
    }
}

/// Sets a declaration's calling convention.
pub fn set_calling_convention(function: Value, convention: u32) {
    ffi!(LLVMSetFunctionCallConv(function.0, convention));
}
