//! Which instruction of the values model an instruction, intrinsic or library function is.

use dmdprof_abi::steps::ValueOp;

use crate::llvm::ir::{AtomicOperation, IntPredicate, Opcode, RealPredicate, Value};

/// The operation of an arithmetic instruction or comparison.
#[must_use]
pub fn of_instruction(instruction: Value<'_>) -> Option<ValueOp> {
    Some(match instruction.opcode() {
        Opcode::FAdd => ValueOp::FpAdd,
        Opcode::FSub => ValueOp::FpSub,
        Opcode::FNeg => ValueOp::FpNeg,
        Opcode::FMul => ValueOp::FpMul,
        Opcode::FDiv => ValueOp::FpDiv,
        Opcode::FRem => ValueOp::FpRem,
        Opcode::Add => ValueOp::Add,
        Opcode::Sub => ValueOp::Sub,
        Opcode::Mul => ValueOp::Mul,
        Opcode::UDiv | Opcode::SDiv => ValueOp::Div,
        Opcode::URem | Opcode::SRem => ValueOp::Rem,
        Opcode::Shl => ValueOp::Shl,
        Opcode::LShr | Opcode::AShr => ValueOp::Shr,
        Opcode::And => ValueOp::And,
        Opcode::Or => ValueOp::Or,
        Opcode::Xor => ValueOp::Xor,
        Opcode::ICmp => of_int_predicate(instruction.int_predicate())?,
        Opcode::FCmp => of_real_predicate(instruction.real_predicate()),
        _ => return None,
    })
}

fn of_int_predicate(predicate: IntPredicate) -> Option<ValueOp> {
    Some(match predicate {
        IntPredicate::Eq => ValueOp::Eq,
        IntPredicate::Ne => ValueOp::Ne,
        IntPredicate::Ugt | IntPredicate::Sgt => ValueOp::Gt,
        IntPredicate::Uge | IntPredicate::Sge => ValueOp::Ge,
        IntPredicate::Ult | IntPredicate::Slt => ValueOp::Lt,
        IntPredicate::Ule | IntPredicate::Sle => ValueOp::Le,
        IntPredicate::Other => return None,
    })
}

fn of_real_predicate(predicate: RealPredicate) -> ValueOp {
    match predicate {
        RealPredicate::Oeq | RealPredicate::Ueq => ValueOp::Eq,
        RealPredicate::One | RealPredicate::Une => ValueOp::Ne,
        RealPredicate::Ogt | RealPredicate::Ugt => ValueOp::Gt,
        RealPredicate::Oge | RealPredicate::Uge => ValueOp::Ge,
        RealPredicate::Olt | RealPredicate::Ult => ValueOp::Lt,
        RealPredicate::Ole | RealPredicate::Ule => ValueOp::Le,
        _ => ValueOp::Unordered,
    }
}

/// Whether an instruction changes width or number format and nothing else.
#[must_use]
pub fn is_conversion(opcode: Opcode) -> bool {
    matches!(
        opcode,
        Opcode::Trunc
            | Opcode::ZExt
            | Opcode::SExt
            | Opcode::FPTrunc
            | Opcode::FPExt
            | Opcode::FPToUI
            | Opcode::FPToSI
            | Opcode::UIToFP
            | Opcode::SIToFP
    )
}

/// The operation of an `atomicrmw`; `None` for an exchange.
#[must_use]
pub fn of_atomic(operation: AtomicOperation) -> Option<ValueOp> {
    use AtomicOperation as A;
    Some(match operation {
        A::Xchg => return None,
        A::Add => ValueOp::Add,
        A::Sub => ValueOp::Sub,
        A::Or => ValueOp::Or,
        A::Xor => ValueOp::Xor,
        A::Max | A::UMax | A::FMax => ValueOp::Max,
        A::Min | A::UMin | A::FMin => ValueOp::Min,
        A::FAdd => ValueOp::FpAdd,
        A::FSub => ValueOp::FpSub,
        _ => ValueOp::And,
    })
}

/// A function of the C library that is one instruction with as many reads as it has tracked arguments.
#[must_use]
pub fn of_function(symbol: &str) -> Option<ValueOp> {
    if let "abs" | "labs" | "llabs" = symbol {
        return Some(ValueOp::Abs);
    }
    if let "div" | "ldiv" | "lldiv" | "imaxdiv" = symbol {
        return Some(ValueOp::DivMod);
    }
    let of_base = |base: &str| {
        Some(match base {
            "fmax" => ValueOp::Max,
            "fmin" => ValueOp::Min,
            "fabs" => ValueOp::FpAbs,
            "floor" | "ceil" | "round" | "trunc" | "rint" | "nearbyint" | "roundeven" => ValueOp::Round,
            "fmod" | "remainder" => ValueOp::FpRem,
            "fdim" => ValueOp::FpSub,
            "copysign" => ValueOp::Bits,
            _ => return of_special(base),
        })
    };
    symbol.strip_suffix(['f', 'l']).and_then(of_base).or_else(|| of_base(symbol))
}

fn of_special(base: &str) -> Option<ValueOp> {
    Some(match base {
        "sqrt" => ValueOp::Sqrt,
        "pow" | "powi" => ValueOp::Pow,
        "exp" | "exp2" | "exp10" => ValueOp::Exp,
        "log" | "log2" | "log10" => ValueOp::Log,
        "sin" => ValueOp::Sin,
        "cos" => ValueOp::Cos,
        _ if crate::calls::is_math_function(base) => ValueOp::Special,
        _ => return None,
    })
}

/// The operation of an intrinsic, by its name without `llvm.`.
#[must_use]
pub fn of_intrinsic(rest: &str) -> Option<ValueOp> {
    let stem = rest.split('.').next().unwrap_or(rest);
    Some(match stem {
        "fabs" => ValueOp::FpAbs,
        "abs" => ValueOp::Abs,
        "floor" | "ceil" | "round" | "trunc" | "rint" | "nearbyint" | "roundeven" | "lround" | "llround" | "lrint"
        | "llrint" => ValueOp::Round,
        "minnum" | "minimum" | "minimumnum" | "smin" | "umin" => ValueOp::Min,
        "maxnum" | "maximum" | "maximumnum" | "smax" | "umax" => ValueOp::Max,
        "scmp" | "ucmp" => ValueOp::Lt,
        "sadd" | "uadd" => ValueOp::Add,
        "ssub" | "usub" => ValueOp::Sub,
        "smul" | "umul" => ValueOp::Mul,
        "sshl" | "ushl" => ValueOp::Shl,
        "fptosi" | "fptoui" => ValueOp::Convert,
        "ctpop" | "ctlz" | "cttz" | "bswap" | "bitreverse" | "fshl" | "fshr" | "copysign" => ValueOp::Bits,
        _ => return of_special(stem),
    })
}

/// What a `vector.reduce` intrinsic combines lanes with, by its name without `llvm.vector.reduce.`.
#[must_use]
pub fn of_reduction(rest: &str) -> Option<ValueOp> {
    Some(match rest.split('.').next()? {
        "fadd" => ValueOp::FpAdd,
        "fmul" => ValueOp::FpMul,
        "add" => ValueOp::Add,
        "mul" => ValueOp::Mul,
        "and" => ValueOp::And,
        "or" => ValueOp::Or,
        "xor" => ValueOp::Xor,
        "smax" | "umax" | "fmax" | "fmaximum" => ValueOp::Max,
        "smin" | "umin" | "fmin" | "fminimum" => ValueOp::Min,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn library_functions_in_all_widths() {
        assert_eq!(of_function("fmaxf"), Some(ValueOp::Max));
        assert_eq!(of_function("sqrtl"), Some(ValueOp::Sqrt));
        assert_eq!(of_function("erff"), Some(ValueOp::Special));
        assert_eq!(of_function("ldiv"), Some(ValueOp::DivMod));
        assert_eq!(of_function("floorf"), Some(ValueOp::Round));
        assert_eq!(of_function("printf"), None);
        assert_eq!(of_function("frexp"), None, "it writes through a pointer");
    }
}
