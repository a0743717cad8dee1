//! Why an access or a function carries no hook. Every skip is counted under its name and shown in the report.

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SkipReason {
    InlineAssembly,
    AddressSpace,
    ScalableVector,
    TargetIntrinsic,
    VectorPredication,
    WideMask,
    VariableArguments,
    VariableLengthArrayScope,
    HugeAccess,
    /// Values model only.
    WideValue,
    /// Values model only.
    CompareAndSwap,
    NakedFunction,
    IfuncResolver,
    NotToBeInstrumented,
    WindowsExceptionHandling,
}

impl SkipReason {
    /// The name that reports show.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::InlineAssembly => "inline assembly",
            Self::AddressSpace => "address space other than 0",
            Self::ScalableVector => "scalable vector",
            Self::TargetIntrinsic => "target intrinsic",
            Self::VectorPredication => "vector-predicated intrinsic",
            Self::WideMask => "mask wider than 64 lanes",
            Self::VariableArguments => "variable arguments intrinsic",
            Self::VariableLengthArrayScope => "end of a variable-length array",
            Self::WideValue => "vector or structure of more than 64 values, not followed",
            Self::CompareAndSwap => "value stored by a compare-and-swap, not followed",
            Self::HugeAccess => "access wider than 4 GiB",
            Self::NakedFunction => "naked function",
            Self::IfuncResolver => "ifunc resolver",
            Self::NotToBeInstrumented => "function marked as not to be instrumented",
            Self::WindowsExceptionHandling => "Windows exception handling",
        }
    }
}
