//! Library calls that are priced by their meaning, never by libc's instructions.
//!
//! Takes a symbol name, gives the [`Model`] that says which operands the hooks need and when. A function that the
//! module defines itself is never modelled: it is program code and carries hooks.

use dmdprof_abi::Call;

use crate::skip::SkipReason;

/// When the hook runs relative to the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// What the call may destroy is looked at first.
    Before,
    /// What the call gives is needed.
    After,
}

/// What the hook is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// Argument of this number, zero-extended.
    Argument(u8),
    /// Sign-extended argument (lengths and statuses of type `int`).
    Signed(u8),
    /// The result, zero-extended.
    Result,
    /// Sign-extended result.
    SignedResult,
    /// A number that the model says.
    Constant(u64),
}

/// What a library function means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Model {
    /// The meaning.
    pub call: Call,
    /// Whether the hook runs before or after the call.
    pub when: When,
    /// What the hook is passed behind the call site and the meaning; at most four.
    pub operands: &'static [Operand],
}

impl Model {
    /// Number of arguments the call must have for the model to make sense.
    #[must_use]
    pub fn arguments_needed(&self) -> u32 {
        let needed = |o: &Operand| match o {
            Operand::Argument(i) | Operand::Signed(i) => u32::from(*i) + 1,
            _ => 0,
        };
        self.operands.iter().map(needed).max().unwrap_or(0)
    }

    /// Whether the call must have a result for the model to make sense.
    #[must_use]
    pub fn needs_result(&self) -> bool {
        self.operands.iter().any(|o| matches!(o, Operand::Result | Operand::SignedResult))
    }
}

use Operand::{Argument as A, Constant as K, Result as R, Signed as I, SignedResult as Ri};

const fn before(call: Call, operands: &'static [Operand]) -> Option<Model> {
    Some(Model { call, when: When::Before, operands })
}

const fn after(call: Call, operands: &'static [Operand]) -> Option<Model> {
    Some(Model { call, when: When::After, operands })
}

/// The meaning of a call to an external function, if it is known.
#[must_use]
pub fn model_of(symbol: &str) -> Option<Model> {
    if let Some(rust) = rust_allocator_function(symbol) {
        return match rust {
            "__rust_alloc" | "__rust_alloc_zeroed" => after(Call::Alloc, &[R, A(0)]),
            "__rust_dealloc" => before(Call::FreeSized, &[A(0), A(1)]),
            _ => after(Call::ReallocSized, &[A(0), A(1), R, A(3)]),
        };
    }
    match symbol {
        "malloc" | "valloc" | "pvalloc" | "__libc_malloc" => after(Call::Alloc, &[R, A(0)]),
        "calloc" => after(Call::AllocArray, &[R, A(0), A(1)]),
        "realloc" => after(Call::Realloc, &[A(0), R, A(1)]),
        "reallocarray" => after(Call::ReallocArray, &[A(0), R, A(1), A(2)]),
        "aligned_alloc" | "memalign" => after(Call::Alloc, &[R, A(1)]),
        "posix_memalign" => after(Call::AllocOut, &[Ri, A(0), A(2)]),
        "free" | "cfree" | "__libc_free" => before(Call::Free, &[A(0)]),
        "free_sized" => before(Call::FreeSized, &[A(0), A(1)]),
        "free_aligned_sized" => before(Call::FreeSized, &[A(0), A(2)]),
        "mmap" | "mmap64" => after(Call::Map, &[R, A(1), I(4), A(3)]),
        "munmap" => after(Call::Unmap, &[Ri, A(0), A(1)]),
        "mremap" => after(Call::Remap, &[A(0), A(1), R, A(2)]),

        "memcpy" | "memmove" | "mempcpy" | "__memcpy_chk" | "__memmove_chk" | "__mempcpy_chk" => {
            before(Call::Copy, &[A(0), A(1), A(2)])
        }
        "bcopy" => before(Call::Copy, &[A(1), A(0), A(2)]),
        "memset" | "__memset_chk" | "explicit_bzero_n" => before(Call::Fill, &[A(0), A(2)]),
        "bzero" | "explicit_bzero" => before(Call::Fill, &[A(0), A(1)]),
        "memcmp" | "bcmp" => before(Call::MemCmp, &[A(0), A(1), A(2)]),
        "memchr" => after(Call::MemChr, &[A(0), I(1), A(2), R]),
        "rawmemchr" => after(Call::StrChr, &[A(0), I(1), R]),
        "strlen" => after(Call::StrLen, &[A(0), R]),
        "strnlen" => after(Call::StrNLen, &[A(0), A(1), R]),
        "strcmp" | "strcoll" => before(Call::StrCmp, &[A(0), A(1)]),
        "strncmp" => before(Call::StrNCmp, &[A(0), A(1), A(2)]),
        "strcasecmp" => before(Call::StrCaseCmp, &[A(0), A(1)]),
        "strncasecmp" => before(Call::StrNCaseCmp, &[A(0), A(1), A(2)]),
        "strchr" | "index" | "strchrnul" => after(Call::StrChr, &[A(0), I(1), R]),
        "strrchr" | "rindex" => before(Call::StrWhole, &[A(0)]),
        "strcpy" | "stpcpy" | "__strcpy_chk" | "__stpcpy_chk" => before(Call::StrCpy, &[A(0), A(1)]),
        "strncpy" | "stpncpy" | "__strncpy_chk" => before(Call::StrNCpy, &[A(0), A(1), A(2)]),
        "strcat" | "__strcat_chk" => before(Call::StrCat, &[A(0), A(1)]),
        "strncat" | "__strncat_chk" => before(Call::StrNCat, &[A(0), A(1), A(2)]),
        "strdup" | "__strdup" => after(Call::StrDup, &[A(0), K(u64::MAX), R]),
        "strndup" | "__strndup" => after(Call::StrDup, &[A(0), A(1), R]),
        "strspn" | "strcspn" => after(Call::StrSpan, &[A(0), A(1), R]),
        "strstr" => after(Call::StrStr, &[A(0), A(1), R]),

        "read" | "pread" | "pread64" | "recv" | "recvfrom" | "readlink" | "getrandom" | "__read_chk"
        | "__pread_chk" | "__recv_chk" => {
            let buffer: &'static [Operand] = match symbol {
                "getrandom" => &[A(0), Ri],
                _ => &[A(1), Ri],
            };
            after(Call::Delivered, buffer)
        }
        "fread" | "fread_unlocked" => after(Call::DeliveredItems, &[A(0), A(1), R]),
        "fgets" | "gets" | "fgets_unlocked" | "__fgets_chk" | "getcwd" | "realpath" => after(Call::DeliveredLine, &[R]),
        "getline" | "getdelim" | "__getdelim" => after(Call::DeliveredLineOut, &[A(0), R]),
        "sprintf" | "vsprintf" | "__sprintf_chk" | "__vsprintf_chk" => after(Call::Formatted, &[A(0), K(u64::MAX), Ri]),
        "snprintf" | "vsnprintf" | "__snprintf_chk" | "__vsnprintf_chk" => after(Call::Formatted, &[A(0), A(1), Ri]),
        "write" | "pwrite" | "pwrite64" | "send" | "sendto" => before(Call::Consumed, &[A(1), A(2)]),
        "fwrite" | "fwrite_unlocked" => before(Call::ConsumedItems, &[A(0), A(1), A(2)]),
        "fputs" | "puts" | "fputs_unlocked" => before(Call::StrWhole, &[A(0)]),

        "dmdprof_input" => before(Call::Input, &[A(0), A(1)]),
        "dmdprof_output" => before(Call::Output, &[A(0), A(1)]),
        "dmdprof_begin" => before(Call::RegionBegin, &[A(0)]),
        "dmdprof_end" => before(Call::RegionEnd, &[A(0)]),
        _ => cpp_operator(symbol),
    }
}

/// `operator new`, `operator delete` and their array, aligned, sized and nothrow forms, as the Itanium ABI mangles
/// them.
fn cpp_operator(symbol: &str) -> Option<Model> {
    if symbol.starts_with("_Znwm") || symbol.starts_with("_Znam") {
        return after(Call::Alloc, &[R, A(0)]);
    }
    if symbol.starts_with("_ZdlPvm") || symbol.starts_with("_ZdaPvm") {
        return before(Call::FreeSized, &[A(0), A(1)]);
    }
    if symbol.starts_with("_ZdlPv") || symbol.starts_with("_ZdaPv") {
        return before(Call::Free, &[A(0)]);
    }
    None
}

/// Rust's allocator entry points, plain or mangled under the `__rustc` pseudo-crate.
fn rust_allocator_function(symbol: &str) -> Option<&'static str> {
    const NAMES: [&str; 4] = ["__rust_alloc", "__rust_alloc_zeroed", "__rust_dealloc", "__rust_realloc"];
    let plain = NAMES.into_iter().find(|n| *n == symbol);
    let mangled = || {
        let tail = symbol.starts_with("_R").then(|| symbol.rsplit_once("7___rustc"))??.1;
        NAMES
            .into_iter()
            .find(|n| tail.strip_prefix(&n.len().to_string()).is_some_and(|t| t.strip_prefix('_').unwrap_or(t) == *n))
    };
    plain.or_else(mangled)
}

/// Functions of the mathematics library: one special operation each, and no access to the program's memory.
#[must_use]
pub fn is_math_function(symbol: &str) -> bool {
    const BASE: [&str; 33] = [
        "acos",
        "acosh",
        "asin",
        "asinh",
        "atan",
        "atan2",
        "atanh",
        "cbrt",
        "cos",
        "cosh",
        "erf",
        "erfc",
        "exp",
        "exp10",
        "exp2",
        "expm1",
        "fmod",
        "hypot",
        "ldexp",
        "lgamma",
        "log",
        "log10",
        "log1p",
        "log2",
        "pow",
        "remainder",
        "sin",
        "sinh",
        "sqrt",
        "tan",
        "tanh",
        "tgamma",
        "scalbn",
    ];
    BASE.contains(&symbol) || symbol.strip_suffix(['f', 'l']).is_some_and(|s| BASE.contains(&s))
}

/// Why bytes may change after this call without an access or a call that is seen, if so. `argument` gives the constant
/// that an argument is, if it is one.
#[must_use]
pub fn written_by_others(name: &str, argument: impl Fn(u32) -> Option<i64>) -> Option<SkipReason> {
    const IO_URING_SETUP: i64 = 425;
    const IO_SETUP: i64 = 206;
    const MAP_SHARED: i64 = 1;
    match name {
        "io_uring_setup" | "io_setup" | "io_queue_init" => Some(SkipReason::FilledByKernel),
        _ if name.starts_with("io_uring_queue_init") => Some(SkipReason::FilledByKernel),
        "syscall" => matches!(argument(0), Some(IO_URING_SETUP | IO_SETUP)).then_some(SkipReason::FilledByKernel),
        "shm_open" | "shmat" => Some(SkipReason::SharedWithOthers),
        // MAP_SHARED_VALIDATE is both bits of the type.
        "mmap" | "mmap64" => {
            argument(3).is_some_and(|flags| flags & MAP_SHARED != 0).then_some(SkipReason::SharedWithOthers)
        }
        _ => None,
    }
}

/// Functions that touch none of the program's memory, so that a call to them hides nothing.
#[must_use]
pub fn touches_no_memory(symbol: &str) -> bool {
    is_math_function(symbol)
        // Rust's mark that an allocator was linked: an empty function.
        || symbol.ends_with("___rust_no_alloc_shim_is_unstable_v2")
        || matches!(
            symbol,
            "abort"
                | "exit"
                | "_exit"
                | "_Exit"
                | "getpid"
                | "getppid"
                | "gettid"
                | "sched_yield"
                | "usleep"
                | "sleep"
                | "isatty"
                | "close"
                | "fileno"
                | "rand"
                | "srand"
                | "random"
                | "clock"
                | "pthread_self"
                | "getpagesize"
                | "sysconf"
                | "floor"
                | "ceil"
                | "round"
                | "trunc"
                | "rint"
                | "nearbyint"
                | "fabs"
                | "toupper"
                | "tolower"
                | "putchar"
                | "abs"
                | "labs"
                | "raise"
                | "setjmp"
                | "_setjmp"
                | "__sigsetjmp"
                | "longjmp"
                | "_longjmp"
                | "siglongjmp"
                | "__longjmp_chk"
                | "__stack_chk_fail"
                | "__cxa_throw"
                | "__cxa_rethrow"
                | "__cxa_begin_catch"
                | "__cxa_end_catch"
                | "__cxa_allocate_exception"
                | "__cxa_free_exception"
                | "_Unwind_Resume"
                | "__cxa_guard_acquire"
                | "__cxa_guard_release"
                | "__cxa_guard_abort"
                | "__cxa_atexit"
                | "__gxx_personality_v0"
                | "_ZSt9terminatev"
                | "__errno_location"
                | "__dmdprof_v5_sigaction__link_with_dmdprof_cc"
                | "__dmdprof_v5_signal__link_with_dmdprof_cc"
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rust_allocator_names_are_recognised_plain_and_mangled() {
        assert_eq!(model_of("__rust_alloc").map(|m| m.call), Some(Call::Alloc));
        assert_eq!(model_of("_RNvCscSpY9Juk0HT_7___rustc12___rust_alloc").map(|m| m.call), Some(Call::Alloc));
        assert_eq!(model_of("_RNvCscSpY9Juk0HT_7___rustc14___rust_dealloc").map(|m| m.call), Some(Call::FreeSized));
        assert_eq!(model_of("_RNvCscSpY9Juk0HT_7___rustc14___rust_realloc").map(|m| m.call), Some(Call::ReallocSized));
        assert_eq!(model_of("_RNvCscSpY9Juk0HT_7___rustc19___rust_alloc_zeroed").map(|m| m.call), Some(Call::Alloc));
        assert_eq!(model_of("_RNvCscSpY9Juk0HT_7___rustc26___rust_alloc_error_handler"), None);
    }

    #[test]
    fn cpp_operators_are_recognised_in_all_forms() {
        for new in ["_Znwm", "_Znam", "_ZnwmRKSt9nothrow_t", "_ZnwmSt11align_val_t"] {
            assert_eq!(model_of(new).map(|m| m.call), Some(Call::Alloc), "{new}");
        }
        assert_eq!(model_of("_ZdlPvm").map(|m| m.call), Some(Call::FreeSized));
        assert_eq!(model_of("_ZdlPvSt11align_val_t").map(|m| m.call), Some(Call::Free));
    }

    #[test]
    fn math_functions_in_all_widths() {
        for name in ["sin", "sinf", "sinl", "pow", "erfcf"] {
            assert!(is_math_function(name), "{name}");
        }
        assert!(!is_math_function("sif"));
    }
}
