//! What is asked of values of any kind, and of instructions that are no calls.

use std::ffi::CStr;

use inkwell::llvm_sys::{core::*, debuginfo::LLVMInstructionGetDebugLoc, prelude::*};

use super::handle::{Block, Metadata, Type, Value, text};
use crate::llvm::kinds::{AtomicOperation, IntPredicate, Opcode, RealPredicate};
use crate::llvm::{kinds::MetadataKind, raw};

impl<'m> Value<'m> {
    /// The raw handle, for functions that take one kind of value.
    #[track_caller]
    pub(super) fn checked(self, is_of_that_kind: bool) -> LLVMValueRef {
        assert!(is_of_that_kind, "an LLVM value of another kind than is asked for");
        self.raw()
    }

    #[must_use]
    pub fn name(self) -> String {
        let mut len = 0;
        // SAFETY: any value has a name, if an empty one; `len` is the place for its length.
        let start = unsafe { LLVMGetValueName2(self.raw(), &raw mut len) };
        // SAFETY: so many bytes, which the value owns.
        unsafe { text(start, len) }
    }

    #[must_use]
    pub fn ty(self) -> Type<'m> {
        // SAFETY: any value has a type.
        Type::new(unsafe { LLVMTypeOf(self.raw()) })
    }

    /// `Other` for what is no instruction.
    #[must_use]
    pub fn opcode(self) -> Opcode {
        if !self.is_instruction() {
            return Opcode::Other;
        }
        // SAFETY: an instruction.
        Opcode::from_number(unsafe { raw::LLVMGetInstructionOpcode(self.raw()) })
    }

    #[must_use]
    pub fn is_instruction(self) -> bool {
        // SAFETY: any value may be asked.
        !unsafe { LLVMIsAInstruction(self.raw()) }.is_null()
    }

    /// Opcode of an instruction or constant expression.
    #[must_use]
    pub fn any_opcode(self) -> Option<Opcode> {
        if self.is_instruction() {
            return Some(self.opcode());
        }
        // SAFETY: any value may be asked.
        let is_expression = !unsafe { LLVMIsAConstantExpr(self.raw()) }.is_null();
        // SAFETY: a constant expression.
        is_expression.then(|| Opcode::from_number(unsafe { raw::LLVMGetConstOpcode(self.raw()) }))
    }

    #[must_use]
    pub fn operand(self, index: u32) -> Value<'m> {
        let raw = self.checked(index < self.operands());
        // SAFETY: there is an operand of that number.
        Value::new(unsafe { LLVMGetOperand(raw, index) })
    }

    /// How many operands it has; none for what is no instruction, constant or global.
    #[must_use]
    pub fn operands(self) -> u32 {
        // SAFETY: any value may be asked.
        if unsafe { LLVMIsAUser(self.raw()) }.is_null() {
            return 0;
        }
        // SAFETY: something with operands.
        unsafe { LLVMGetNumOperands(self.raw()) }.unsigned_abs()
    }

    #[must_use]
    pub fn block(self) -> Block<'m> {
        let raw = self.checked(self.is_instruction());
        // SAFETY: an instruction, and those of a module are in blocks.
        Block::new(unsafe { LLVMGetInstructionParent(raw) })
    }

    /// Users of this value.
    #[must_use]
    pub fn users(self) -> Vec<Value<'m>> {
        let mut users = Vec::new();
        // SAFETY: any value may be asked; null ends the list.
        let mut next = unsafe { LLVMGetFirstUse(self.raw()) };
        while !next.is_null() {
            // SAFETY: a use that LLVM has just given.
            users.push(Value::new(unsafe { LLVMGetUser(next) }));
            // SAFETY: as above.
            next = unsafe { LLVMGetNextUse(next) };
        }
        users
    }

    /// The value of an integer constant of at most 64 bits, sign-extended.
    #[must_use]
    pub fn as_signed_constant(self) -> Option<i64> {
        // SAFETY: any value may be asked.
        let is_number = !unsafe { LLVMIsAConstantInt(self.raw()) }.is_null();
        let fits = is_number && self.ty().int_width().is_some_and(|width| width <= 64);
        // SAFETY: an integer constant that fits.
        fits.then(|| unsafe { LLVMConstIntGetSExtValue(self.raw()) })
    }

    #[must_use]
    pub fn is_constant(self) -> bool {
        // SAFETY: any value may be asked.
        unsafe { LLVMIsConstant(self.raw()) != 0 }
    }

    #[must_use]
    pub fn is_inline_asm(self) -> bool {
        // SAFETY: any value may be asked.
        !unsafe { LLVMIsAInlineAsm(self.raw()) }.is_null()
    }

    #[must_use]
    pub fn is_null_pointer(self) -> bool {
        // SAFETY: any value may be asked.
        !unsafe { LLVMIsAConstantPointerNull(self.raw()) }.is_null()
    }

    /// Whether an access is volatile.
    #[must_use]
    pub fn is_volatile(self) -> bool {
        let is_access =
            matches!(self.opcode(), Opcode::Load | Opcode::Store | Opcode::AtomicRMW | Opcode::AtomicCmpXchg);
        // SAFETY: one of the instructions that can be volatile.
        is_access && unsafe { LLVMGetVolatile(self.raw()) != 0 }
    }

    /// What the address of a load or store is a multiple of.
    #[must_use]
    pub fn alignment(self) -> u64 {
        match self.opcode() {
            // SAFETY: one of the instructions that have an alignment.
            Opcode::Load | Opcode::Store => u64::from(unsafe { LLVMGetAlignment(self.raw()) }).max(1),
            _ => 1,
        }
    }

    #[must_use]
    pub fn is_atomic(self) -> bool {
        // SAFETY: an instruction.
        self.is_instruction() && unsafe { LLVMIsAtomic(self.raw()) != 0 }
    }

    /// Whether an access acquires, and whether it releases.
    #[must_use]
    pub fn ordering(self) -> (bool, bool) {
        let number = match self.opcode() {
            _ if !self.is_atomic() => return (false, false),
            // SAFETY: they have an ordering.
            Opcode::Load | Opcode::Store | Opcode::AtomicRMW => unsafe { raw::LLVMGetOrdering(self.raw()) },
            // SAFETY: a `cmpxchg`.
            Opcode::AtomicCmpXchg => unsafe { raw::LLVMGetCmpXchgSuccessOrdering(self.raw()) },
            _ => return (false, false),
        };
        // Numbers of LLVM's enum: acquire, release, both, sequentially consistent.
        (matches!(number, 4 | 6 | 7), matches!(number, 5..=7))
    }

    /// Its text, for what the C interface does not tell.
    #[must_use]
    pub fn printed(self) -> String {
        // SAFETY: any value can be printed.
        let printed = unsafe { LLVMPrintValueToString(self.raw()) };
        // SAFETY: a C string that is ours to dispose of; it is copied first.
        let text = unsafe { CStr::from_ptr(printed) }.to_string_lossy().into_owned();
        // SAFETY: as above.
        unsafe { LLVMDisposeMessage(printed) };
        text
    }

    /// Whether a fence between threads acquires, and whether it releases; neither of what is no such fence.
    #[must_use]
    pub fn fence_ordering(self) -> (bool, bool) {
        if self.opcode() != Opcode::Fence {
            return (false, false);
        }
        // Older LLVM's C interface does not tell, but its text does: `fence [syncscope("...")] ORDERING[, !dbg !N]`.
        let text = self.printed();
        let mut words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
        let ordering = words.find(|word| !word.is_empty() && *word != "fence").unwrap_or_default();
        let has = |wanted: &str| ordering == wanted;
        let both = has("acq_rel") || has("seq_cst");
        (both || has("acquire"), both || has("release"))
    }

    /// Type of what an `alloca` makes room for.
    #[must_use]
    pub fn allocated_type(self) -> Type<'m> {
        let raw = self.checked(self.opcode() == Opcode::Alloca);
        // SAFETY: an `alloca`.
        Type::new(unsafe { LLVMGetAllocatedType(raw) })
    }

    /// Type that the first index of a `getelementptr` counts.
    #[must_use]
    pub fn gep_source_type(self) -> Type<'m> {
        let raw = self.checked(self.any_opcode() == Some(Opcode::GetElementPtr));
        // SAFETY: a `getelementptr`, as an instruction or a constant.
        Type::new(unsafe { LLVMGetGEPSourceElementType(raw) })
    }

    #[must_use]
    pub fn debug_location(self) -> Option<Metadata<'m>> {
        let raw = self.is_instruction().then_some(self.raw())?;
        // SAFETY: an instruction.
        Metadata::maybe(unsafe { LLVMInstructionGetDebugLoc(raw) })
    }

    /// Where the source has the loop that this branch closes: the first location in its `llvm.loop` metadata.
    #[must_use]
    pub fn loop_start(self) -> Option<Metadata<'m>> {
        const KIND: &str = "llvm.loop";
        let raw = self.is_instruction().then_some(self.raw())?;
        // SAFETY: a type of the module.
        let context = unsafe { LLVMGetTypeContext(self.ty().raw()) };
        // SAFETY: the module's context, and so many bytes.
        let kind = unsafe { LLVMGetMDKindIDInContext(context, KIND.as_ptr().cast(), KIND.len() as u32) };
        // SAFETY: an instruction.
        let node = Value::maybe(unsafe { LLVMGetMetadata(raw, kind) })?;
        let nodes = node.node_operands().into_iter().flatten().filter_map(Value::as_metadata);
        nodes.into_iter().find(|node| node.kind() == MetadataKind::Location)
    }

    /// Values of a phi, with the blocks that they come from.
    #[must_use]
    pub fn incoming(self) -> Vec<(Value<'m>, Block<'m>)> {
        let raw = self.checked(self.opcode() == Opcode::Phi);
        // SAFETY: a phi.
        let count = unsafe { LLVMCountIncoming(raw) };
        (0..count)
            .map(|i| {
                // SAFETY: a phi with an edge of that number.
                let (value, block) = unsafe { (LLVMGetIncomingValue(raw, i), LLVMGetIncomingBlock(raw, i)) };
                (Value::new(value), Block::new(block))
            })
            .collect()
    }

    /// Predicate of an `icmp`.
    #[must_use]
    pub fn int_predicate(self) -> IntPredicate {
        let raw = self.checked(self.opcode() == Opcode::ICmp);
        // SAFETY: an `icmp`.
        IntPredicate::from_number(unsafe { raw::LLVMGetICmpPredicate(raw) })
    }

    /// Predicate of an `fcmp`.
    #[must_use]
    pub fn real_predicate(self) -> RealPredicate {
        let raw = self.checked(self.opcode() == Opcode::FCmp);
        // SAFETY: an `fcmp`.
        RealPredicate::from_number(unsafe { raw::LLVMGetFCmpPredicate(raw) })
    }

    /// Operation of an `atomicrmw`.
    #[must_use]
    pub fn atomic_operation(self) -> AtomicOperation {
        let raw = self.checked(self.opcode() == Opcode::AtomicRMW);
        // SAFETY: an `atomicrmw`.
        AtomicOperation::from_number(unsafe { raw::LLVMGetAtomicRMWBinOp(raw) })
    }

    /// Lanes that a `shufflevector` takes, in order; `None` for lanes that may be anything.
    #[must_use]
    pub fn shuffle_mask(self) -> Vec<Option<u32>> {
        let raw = self.checked(self.opcode() == Opcode::ShuffleVector);
        // SAFETY: a `shufflevector`.
        let count = unsafe { LLVMGetNumMaskElements(raw) };
        // SAFETY: a `shufflevector` with a lane of that number.
        (0..count).map(|i| u32::try_from(unsafe { LLVMGetMaskValue(raw, i) }).ok()).collect()
    }

    /// Indices of an `extractvalue` or `insertvalue`.
    #[must_use]
    pub fn indices(self) -> Vec<u32> {
        let raw = self.checked(matches!(self.opcode(), Opcode::ExtractValue | Opcode::InsertValue));
        // SAFETY: an instruction with such indices.
        let (count, start) = unsafe { (LLVMGetNumIndices(raw) as usize, LLVMGetIndices(raw)) };
        // SAFETY: as many indices as LLVM has counted, which the instruction owns.
        if count == 0 { Vec::new() } else { unsafe { std::slice::from_raw_parts(start, count) }.to_vec() }
    }

    #[must_use]
    pub fn is_disjoint_or(self) -> bool {
        // SAFETY: an `or`.
        self.opcode() == Opcode::Or && unsafe { LLVMGetIsDisjoint(self.raw()) != 0 }
    }

    /// Redirects every use of one value to another of the same type.
    pub fn replace_all_uses_with(self, other: Value<'m>) {
        assert!(self.ty() == other.ty(), "a value can stand for one of its own type only");
        // SAFETY: two values of one module and one type.
        unsafe { LLVMReplaceAllUsesWith(self.raw(), other.raw()) };
    }
}
