//! Why an access or a function carries no hook. Every skip is counted under its name and shown in the report.

/// Why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SkipReason {
    /// Inline assembly that touches memory, by more than its memory operands.
    InlineAssembly,
    /// The pointer is to an address space other than 0.
    AddressSpace,
    /// The size of the vector is known when the program runs only.
    ScalableVector,
    /// An intrinsic that may touch memory and is not understood.
    Intrinsic,
    /// A mask of more than 64 lanes.
    WideMask,
    /// `va_start`, `va_copy` or `va_arg`.
    VariableArguments,
    /// The end of an array whose size is known when the program runs only.
    VariableLengthArrayScope,
    /// An access to more than 4 GiB.
    HugeAccess,
    /// A vector or structure of more than 64 values; values model only.
    WideValue,
    /// What a compare-and-swap stores; values model only.
    CompareAndSwap,
    /// A call that has the kernel fill buffers later, without a call that could be modelled.
    FilledByKernel,
    /// A call that gives memory which other processes or devices may write.
    SharedWithOthers,
    /// A function whose code is its assembly.
    NakedFunction,
    /// A function that runs while the program is linked: a resolver, or what it calls.
    IfuncResolver,
    /// An access of such a function, other than to what the compiler knows of the processor.
    AccessInResolver,
    /// A function with the attribute `dmdprof-no-instrument`.
    NotToBeInstrumented,
    /// A function with funclets.
    WindowsExceptionHandling,
    /// A function whose descriptors would be larger than their format allows.
    TooLarge,
}

impl SkipReason {
    /// The name that reports show.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::InlineAssembly => "inline assembly",
            Self::AddressSpace => "address space other than 0",
            Self::ScalableVector => "scalable vector",
            Self::Intrinsic => "intrinsic that is not understood",
            Self::WideMask => "mask wider than 64 lanes",
            Self::VariableArguments => "variable arguments intrinsic",
            Self::VariableLengthArrayScope => "end of a variable-length array",
            Self::WideValue => "vector or structure of more than 64 values, not followed",
            Self::CompareAndSwap => "value stored by a compare-and-swap, not followed",
            Self::HugeAccess => "access wider than 4 GiB",
            Self::FilledByKernel => "set-up of io_uring or kernel AIO, which fill buffers unseen",
            Self::SharedWithOthers => "memory that others may write unseen (MAP_SHARED, shm_open, shmat)",
            Self::NakedFunction => "naked function",
            Self::IfuncResolver => "ifunc resolver",
            Self::AccessInResolver => "access in an ifunc resolver",
            Self::NotToBeInstrumented => "function marked as not to be instrumented",
            Self::TooLarge => "function too large for its descriptors",
            Self::WindowsExceptionHandling => "Windows exception handling",
        }
    }
}
