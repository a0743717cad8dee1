//! LLVM's enums, as far as anything here asks about them. Numbers of all other variants, known or not, are `Other`.

use std::ffi::c_uint;

use inkwell::llvm_sys::{
    LLVMAtomicRMWBinOp, LLVMDbgRecordKind, LLVMDiagnosticSeverity, LLVMIntPredicate, LLVMLinkage, LLVMOpcode,
    LLVMRealPredicate, LLVMTailCallKind, LLVMTypeKind, debuginfo::LLVMMetadataKind,
};

macro_rules! from_llvm {
    ($(#[$doc:meta])* $name:ident from $source:ident { $($variant:ident = $original:ident,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($variant,)*
            Other,
        }

        impl $name {
            pub(super) fn from_number(number: c_uint) -> Self {
                $(
                    if number == $source::$original as c_uint {
                        return Self::$variant;
                    }
                )*
                Self::Other
            }
        }
    };
}

from_llvm! {
    /// What an instruction does.
    Opcode from LLVMOpcode {
        Ret = LLVMRet,
        Br = LLVMBr,
        Switch = LLVMSwitch,
        IndirectBr = LLVMIndirectBr,
        Invoke = LLVMInvoke,
        CallBr = LLVMCallBr,
        FNeg = LLVMFNeg,
        Add = LLVMAdd,
        FAdd = LLVMFAdd,
        Sub = LLVMSub,
        FSub = LLVMFSub,
        Mul = LLVMMul,
        FMul = LLVMFMul,
        UDiv = LLVMUDiv,
        SDiv = LLVMSDiv,
        FDiv = LLVMFDiv,
        URem = LLVMURem,
        SRem = LLVMSRem,
        FRem = LLVMFRem,
        Shl = LLVMShl,
        LShr = LLVMLShr,
        AShr = LLVMAShr,
        And = LLVMAnd,
        Or = LLVMOr,
        Xor = LLVMXor,
        Alloca = LLVMAlloca,
        Load = LLVMLoad,
        Store = LLVMStore,
        GetElementPtr = LLVMGetElementPtr,
        Trunc = LLVMTrunc,
        ZExt = LLVMZExt,
        SExt = LLVMSExt,
        FPToUI = LLVMFPToUI,
        FPToSI = LLVMFPToSI,
        UIToFP = LLVMUIToFP,
        SIToFP = LLVMSIToFP,
        FPTrunc = LLVMFPTrunc,
        FPExt = LLVMFPExt,
        PtrToInt = LLVMPtrToInt,
        IntToPtr = LLVMIntToPtr,
        BitCast = LLVMBitCast,
        AddrSpaceCast = LLVMAddrSpaceCast,
        ICmp = LLVMICmp,
        FCmp = LLVMFCmp,
        Phi = LLVMPHI,
        Call = LLVMCall,
        Select = LLVMSelect,
        VAArg = LLVMVAArg,
        ExtractElement = LLVMExtractElement,
        InsertElement = LLVMInsertElement,
        ShuffleVector = LLVMShuffleVector,
        ExtractValue = LLVMExtractValue,
        InsertValue = LLVMInsertValue,
        Freeze = LLVMFreeze,
        Fence = LLVMFence,
        AtomicCmpXchg = LLVMAtomicCmpXchg,
        AtomicRMW = LLVMAtomicRMW,
        Resume = LLVMResume,
        LandingPad = LLVMLandingPad,
        CleanupPad = LLVMCleanupPad,
        CatchPad = LLVMCatchPad,
        CatchSwitch = LLVMCatchSwitch,
    }
}

from_llvm! {
    TypeKind from LLVMTypeKind {
        Void = LLVMVoidTypeKind,
        Half = LLVMHalfTypeKind,
        BFloat = LLVMBFloatTypeKind,
        Float = LLVMFloatTypeKind,
        Double = LLVMDoubleTypeKind,
        X86Fp80 = LLVMX86_FP80TypeKind,
        Fp128 = LLVMFP128TypeKind,
        Integer = LLVMIntegerTypeKind,
        Function = LLVMFunctionTypeKind,
        Struct = LLVMStructTypeKind,
        Array = LLVMArrayTypeKind,
        Pointer = LLVMPointerTypeKind,
        Vector = LLVMVectorTypeKind,
        ScalableVector = LLVMScalableVectorTypeKind,
        Metadata = LLVMMetadataTypeKind,
    }
}

from_llvm! {
    /// Of an `icmp`.
    IntPredicate from LLVMIntPredicate {
        Eq = LLVMIntEQ,
        Ne = LLVMIntNE,
        Ugt = LLVMIntUGT,
        Uge = LLVMIntUGE,
        Ult = LLVMIntULT,
        Ule = LLVMIntULE,
        Sgt = LLVMIntSGT,
        Sge = LLVMIntSGE,
        Slt = LLVMIntSLT,
        Sle = LLVMIntSLE,
    }
}

from_llvm! {
    /// Of an `fcmp`.
    RealPredicate from LLVMRealPredicate {
        Oeq = LLVMRealOEQ,
        Ogt = LLVMRealOGT,
        Oge = LLVMRealOGE,
        Olt = LLVMRealOLT,
        Ole = LLVMRealOLE,
        One = LLVMRealONE,
        Ueq = LLVMRealUEQ,
        Ugt = LLVMRealUGT,
        Uge = LLVMRealUGE,
        Ult = LLVMRealULT,
        Ule = LLVMRealULE,
        Une = LLVMRealUNE,
    }
}

from_llvm! {
    /// Of an `atomicrmw`.
    AtomicOperation from LLVMAtomicRMWBinOp {
        Xchg = LLVMAtomicRMWBinOpXchg,
        Add = LLVMAtomicRMWBinOpAdd,
        Sub = LLVMAtomicRMWBinOpSub,
        Or = LLVMAtomicRMWBinOpOr,
        Xor = LLVMAtomicRMWBinOpXor,
        Max = LLVMAtomicRMWBinOpMax,
        Min = LLVMAtomicRMWBinOpMin,
        UMax = LLVMAtomicRMWBinOpUMax,
        UMin = LLVMAtomicRMWBinOpUMin,
        FAdd = LLVMAtomicRMWBinOpFAdd,
        FSub = LLVMAtomicRMWBinOpFSub,
        FMax = LLVMAtomicRMWBinOpFMax,
        FMin = LLVMAtomicRMWBinOpFMin,
    }
}

from_llvm! {
    TailCall from LLVMTailCallKind {
        Must = LLVMTailCallKindMustTail,
    }
}

from_llvm! {
    Linkage from LLVMLinkage {
        AvailableExternally = LLVMAvailableExternallyLinkage,
    }
}

from_llvm! {
    DebugRecordKind from LLVMDbgRecordKind {
        Declare = LLVMDbgRecordDeclare,
        Value = LLVMDbgRecordValue,
        Assign = LLVMDbgRecordAssign,
        Label = LLVMDbgRecordLabel,
    }
}

from_llvm! {
    Severity from LLVMDiagnosticSeverity {
        Error = LLVMDSError,
    }
}

from_llvm! {
    MetadataKind from LLVMMetadataKind {
        String = LLVMMDStringMetadataKind,
        Constant = LLVMConstantAsMetadataMetadataKind,
        Local = LLVMLocalAsMetadataMetadataKind,
        Placeholder = LLVMDistinctMDOperandPlaceholderMetadataKind,
        ArgumentList = LLVMDIArgListMetadataKind,
        Tuple = LLVMMDTupleMetadataKind,
        Location = LLVMDILocationMetadataKind,
        BasicType = LLVMDIBasicTypeMetadataKind,
        DerivedType = LLVMDIDerivedTypeMetadataKind,
        CompositeType = LLVMDICompositeTypeMetadataKind,
        SubroutineType = LLVMDISubroutineTypeMetadataKind,
        File = LLVMDIFileMetadataKind,
        CompileUnit = LLVMDICompileUnitMetadataKind,
        Subprogram = LLVMDISubprogramMetadataKind,
        LexicalBlock = LLVMDILexicalBlockMetadataKind,
        LexicalBlockFile = LLVMDILexicalBlockFileMetadataKind,
        Namespace = LLVMDINamespaceMetadataKind,
        Module = LLVMDIModuleMetadataKind,
        GlobalVariable = LLVMDIGlobalVariableMetadataKind,
        LocalVariable = LLVMDILocalVariableMetadataKind,
        GlobalVariableExpression = LLVMDIGlobalVariableExpressionMetadataKind,
        CommonBlock = LLVMDICommonBlockMetadataKind,
    }
}

impl MetadataKind {
    /// Whether it is a node with operands. What is not known here is not looked into.
    pub(super) fn is_node(self) -> bool {
        use MetadataKind as K;
        !matches!(self, K::String | K::Constant | K::Local | K::Placeholder | K::ArgumentList | K::Other)
    }

    pub(super) fn is_type(self) -> bool {
        use MetadataKind as K;
        matches!(self, K::BasicType | K::DerivedType | K::CompositeType | K::SubroutineType)
    }

    pub(super) fn is_scope(self) -> bool {
        use MetadataKind as K;
        let is_block = matches!(self, K::LexicalBlock | K::LexicalBlockFile | K::CommonBlock);
        let holds_blocks = matches!(self, K::File | K::CompileUnit | K::Subprogram | K::Namespace | K::Module);
        is_block || holds_blocks || self.is_type()
    }

    pub(super) fn is_variable(self) -> bool {
        matches!(self, Self::GlobalVariable | Self::LocalVariable)
    }
}
