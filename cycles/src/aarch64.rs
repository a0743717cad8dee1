//! Instructions of 64-bit Arm processors (A64).
//!
//! Takes the bytes of an instruction and its address, gives an [`Instruction`]. What an operand is to an instruction
//! follows from its place and from the instruction's name: results stand first. Additions to addresses that an access
//! makes beside it are taken as foretold. Refuses what the decoder does not know, which is SVE among others.

use yaxpeax_arch::{Arch, Decoder, U8Reader};
use yaxpeax_arm::armv8::a64::{ARMv8, Instruction as Decoded, Operand, SIMDSizeCode, ShiftStyle, SizeCode};

use crate::instruction::{Class, Flow, Instruction, Register, unknown};

/// Registers 0 to 30 are integers; the stack pointer, vectors and flags follow.
const STACK_POINTER: Register = 31;
const VECTORS: Register = 32;
const FLAGS: Register = 64;
/// As an operand, the register that is always zero, or the stack pointer.
const LAST: u16 = 31;
/// The register of the way back.
const LINK: Register = 30;

/// The instruction that these bytes are.
#[must_use]
pub fn decode(address: u64, bytes: &[u8]) -> Option<Instruction> {
    let decoder = <ARMv8 as Arch>::Decoder::default();
    let decoded = decoder.decode(&mut U8Reader::new(bytes)).ok()?;
    let name = format!("{:?}", decoded.opcode);
    let name = name.split('(').next().unwrap_or_default();
    Some(instruction(address, &decoded, name))
}

/// What operands are to an instruction.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Roles {
    /// The first is the result, the others are sources.
    ResultFirst,
    /// The first is a source too.
    Changes,
    /// All are sources.
    Sources,
    /// All but addresses are results.
    Loads,
    /// The first is a source and the second the result, or the first alone is both, or a result.
    Atomic,
}

fn instruction(address: u64, decoded: &Decoded, name: &str) -> Instruction {
    let mut made = unknown(address, 4);
    made.flow = flow(name);
    let roles = roles(name, made.flow);
    let operands = || decoded.operands.iter().filter(|operand| !matches!(operand, Operand::Nothing));
    let mut touches = false;
    let mut changes_base = false;
    for (place, operand) in operands().enumerate() {
        if let Some((base, other, changes)) = address_of(operand) {
            touches = true;
            changes_base |= changes;
            made.bases.add(base);
            other.into_iter().for_each(|register| made.bases.add(register));
            continue;
        }
        let is_result = match roles {
            Roles::ResultFirst | Roles::Changes => place == 0,
            Roles::Sources => false,
            Roles::Loads => true,
            Roles::Atomic => place == usize::from(!name.starts_with("ST") && !name.starts_with("CAS")),
        };
        let is_source = match roles {
            Roles::ResultFirst => place > 0,
            Roles::Changes | Roles::Sources => true,
            Roles::Loads => false,
            Roles::Atomic if name.starts_with("ST") => place > 0,
            Roles::Atomic => place == 0 || name.starts_with("CAS"),
        };
        for register in registers(operand) {
            if is_source {
                made.sources.add(register);
            }
            if is_result {
                made.results.add(register);
            }
        }
    }
    if matches!(made.flow, Flow::Call | Flow::IndirectCall) {
        made.results.add(LINK);
    } else if made.flow == Flow::Return {
        made.sources.add(LINK);
    }
    if reads_flags(name) {
        made.sources.add(FLAGS);
    }
    if writes_flags(name) {
        made.results.add(FLAGS);
    }
    let is_vector = operands().any(is_vector);
    let moves = touches && roles != Roles::Atomic;
    made.class = match made.flow {
        Flow::Next if moves => Class::Nothing,
        Flow::Next if is_vector => vector_class(decoded, name),
        Flow::Next => class(decoded, name, roles),
        _ => Class::Branch,
    };
    made.is_renamed = is_copy(decoded, name);
    made.is_vector = is_vector;
    made.operations = if changes_base || touches && roles == Roles::Atomic { 2 } else { 1 };
    made
}

fn roles(name: &str, flow: Flow) -> Roles {
    let begins = |words: &[&str]| words.iter().any(|word| name.starts_with(word));
    let is_one = |words: &[&str]| words.contains(&name);
    let is_locked = begins(&["LDADD", "LDCLR", "LDEOR", "LDSET", "LDSMAX", "LDSMIN", "LDUMAX", "LDUMIN", "SWP", "CAS"]);
    if is_locked || begins(&["LDXR", "LDAXR", "LDXP", "LDAXP", "STXR", "STLXR", "STXP", "STLXP"]) {
        // Loads that reserve have their results first.
        if begins(&["LDX", "LDAX"]) { Roles::Loads } else { Roles::Atomic }
    } else if begins(&["LD"]) {
        Roles::Loads
    } else if flow != Flow::Next
        || begins(&["ST", "PRF", "CCM", "FCCMP", "SVC", "MSR", "HINT", "SYS", "DSB", "DMB"])
        || is_one(&["FCMP", "FCMPE"])
    {
        Roles::Sources
    } else if is_one(&["MOVK", "BFM", "BSL", "BIT", "BIF", "INS", "TBX", "SRI", "SLI", "MLA", "MLS", "FMLA", "FMLS"])
        || is_one(&["SSRA", "USRA", "SRSRA", "URSRA", "SDOT", "UDOT", "SABA", "UABA", "SADALP", "UADALP", "FCMLA"])
        || name.contains("MLAL")
        || name.contains("MLSL")
        || name.contains("ABAL")
        || begins(&["AES", "SHA", "SQRDML"])
        || name.ends_with("N2")
    {
        Roles::Changes
    } else {
        Roles::ResultFirst
    }
}

/// Register of an operand that may name the stack pointer.
fn or_stack(register: u16) -> Register {
    if register == LAST { STACK_POINTER } else { register as Register }
}

/// Base and other register of an address, and whether the base changes.
fn address_of(operand: &Operand) -> Option<(Register, Option<Register>, bool)> {
    let other = |register: u16| (register != LAST).then_some(register as Register);
    match *operand {
        Operand::RegRegOffset(base, index, ..) => Some((or_stack(base), other(index), false)),
        Operand::RegPreIndex(base, _, changes) => Some((or_stack(base), None, changes)),
        Operand::RegPostIndex(base, _) => Some((or_stack(base), None, true)),
        Operand::RegPostIndexReg(base, by) => Some((or_stack(base), other(by), true)),
        _ => None,
    }
}

/// Registers that an operand names, but for those of addresses.
fn registers(operand: &Operand) -> impl Iterator<Item = Register> {
    let (first, count) = match *operand {
        Operand::Register(_, register) | Operand::RegShift(_, _, _, register) if register != LAST => {
            (register as Register, 1)
        }
        Operand::RegisterPair(_, register) => (register as Register, 2),
        Operand::RegisterOrSP(_, register) => (or_stack(register), 1),
        Operand::SIMDRegister(_, register)
        | Operand::SIMDRegisterElements(_, register, _)
        | Operand::SIMDRegisterElementsLane(_, register, ..)
        | Operand::SIMDRegisterElementsMultipleLane(_, register, ..) => (VECTORS + register as Register, 1),
        Operand::SIMDRegisterGroup(_, register, _, count) | Operand::SIMDRegisterGroupLane(register, _, count, _) => {
            (VECTORS + register as Register, count)
        }
        _ => (0, 0),
    };
    // Groups go on with the first vector behind the last one.
    (first..first + count).map(|register| if register >= FLAGS { register - VECTORS } else { register })
}

fn is_vector(operand: &Operand) -> bool {
    matches!(
        operand,
        Operand::SIMDRegister(..)
            | Operand::SIMDRegisterElements(..)
            | Operand::SIMDRegisterElementsLane(..)
            | Operand::SIMDRegisterElementsMultipleLane(..)
            | Operand::SIMDRegisterGroup(..)
            | Operand::SIMDRegisterGroupLane(..)
    )
}

fn flow(name: &str) -> Flow {
    match name {
        "B" => Flow::Jump,
        "Bcc" | "BCcc" | "CBZ" | "CBNZ" | "TBZ" | "TBNZ" => Flow::Conditional,
        "BL" => Flow::Call,
        _ if name.starts_with("BLR") => Flow::IndirectCall,
        _ if name.starts_with("BRA") || name == "BR" => Flow::Indirect,
        _ if name.starts_with("RET") => Flow::Return,
        _ => Flow::Next,
    }
}

fn reads_flags(name: &str) -> bool {
    matches!(name, "ADC" | "ADCS" | "SBC" | "SBCS" | "CCMN" | "CCMP" | "FCSEL" | "FCCMP" | "FCCMPE" | "Bcc" | "BCcc")
        || name.starts_with("CS")
}

fn writes_flags(name: &str) -> bool {
    matches!(name, "ADDS" | "SUBS" | "ANDS" | "BICS" | "ADCS" | "SBCS" | "SUBPS" | "CCMN" | "CCMP" | "RMIF")
        || matches!(name, "FCMP" | "FCMPE" | "FCCMP" | "FCCMPE" | "SETF8" | "SETF16")
}

/// From one register to another, all of it: an `or` with zero, an addition of nothing, or a move between vectors.
fn is_copy(decoded: &Decoded, name: &str) -> bool {
    let [to, first, second, _] = decoded.operands;
    match name {
        "ORR" => match (first, second) {
            (Operand::Register(_, LAST), Operand::RegShift(_, 0, ..)) => true,
            (Operand::SIMDRegisterElements(_, one, _), Operand::SIMDRegisterElements(_, other, _)) => one == other,
            _ => false,
        },
        "ADD" => {
            matches!((first, second), (Operand::RegisterOrSP(..), Operand::Immediate(0) | Operand::ImmShift(0, _)))
        }
        "FMOV" => matches!((to, first), (Operand::SIMDRegister(..), Operand::SIMDRegister(..))),
        _ => false,
    }
}

/// Whether an operand is shifted by more than an address is, which takes longer.
fn is_shifted(decoded: &Decoded) -> bool {
    decoded.operands.iter().any(|operand| match *operand {
        Operand::RegShift(ShiftStyle::LSL, by, ..) => by > 4,
        Operand::RegShift(ShiftStyle::UXTX, 0, ..) => false,
        Operand::RegShift(_, by, ..) => by > 0,
        _ => false,
    })
}

/// What an instruction does that goes on to the next one.
fn class(decoded: &Decoded, name: &str, roles: Roles) -> Class {
    let is_wide = matches!(decoded.operands[0], Operand::Register(SizeCode::X, _));
    match name {
        "MADD" | "MSUB" | "SMADDL" | "SMSUBL" | "SMULH" | "UMADDL" | "UMSUBL" | "UMULH" => Class::Multiply,
        "UDIV" | "SDIV" if is_wide => Class::Divide64,
        "UDIV" | "SDIV" => Class::Divide32,
        "CLZ" | "CLS" => Class::Scan,
        "SVC" | "HVC" | "SMC" | "BRK" | "HLT" | "MSR" | "SYS" | "SYSL" | "ISB" | "DSB" | "DMB" => Class::System,
        "HINT" | "PRFM" | "PRFUM" | "CLREX" => Class::Nothing,
        _ if roles == Roles::Atomic => Class::Locked,
        _ if is_shifted(decoded) => Class::Address,
        _ => Class::Simple,
    }
}

fn vector_class(decoded: &Decoded, name: &str) -> Class {
    let begins = |words: &[&str]| words.iter().any(|word| name.starts_with(word));
    let uses_integers = decoded.operands.iter().any(|one| matches!(one, Operand::Register(..)));
    let is_double = matches!(
        decoded.operands[0],
        Operand::SIMDRegister(SIMDSizeCode::D, _) | Operand::SIMDRegisterElements(_, _, SIMDSizeCode::D)
    );
    match name {
        "FDIV" if is_double => Class::FloatDivide64,
        "FDIV" => Class::FloatDivide32,
        "FSQRT" if is_double => Class::Root64,
        "FSQRT" => Class::Root32,
        "FMADD" | "FMSUB" | "FNMADD" | "FNMSUB" | "FMLA" | "FMLS" | "FMLAL" | "FMLSL" | "FMLAL2" | "FMLSL2"
        | "FCMLA" | "FRECPS" | "FRSQRTS" => Class::Fused,
        "FMUL" | "FNMUL" | "FMULX" | "MUL" | "MLA" | "MLS" => Class::FloatMultiply,
        "FCMP" | "FCMPE" | "FCCMP" | "FCCMPE" => Class::FloatCompare,
        "FMOV" | "DUP" | "INS" | "UMOV" | "SMOV" if uses_integers => Class::Transfer,
        _ if name.contains("MULL") || name.contains("MLAL") || name.contains("MLSL") => Class::FloatMultiply,
        _ if name.contains("DMULH") || name.ends_with("DOT") => Class::FloatMultiply,
        _ if begins(&["FADD", "FSUB", "FABD", "FRINT", "FCADD"]) => Class::FloatAdd,
        _ if begins(&["FMAX", "FMIN", "FCMEQ", "FCMG", "FCML", "FACG", "FCSEL"]) => Class::FloatSelect,
        _ if begins(&["FCVT", "SCVTF", "UCVTF", "FJCVT", "BFCVT"]) && uses_integers => Class::ConvertInteger,
        _ if begins(&["FCVT", "SCVTF", "UCVTF", "FJCVT", "BFCVT"]) => Class::Convert,
        _ if begins(&["ADDV", "UADDLV", "SADDLV", "UMAXV", "SMAXV", "UMINV", "SMINV"]) => Class::CrossLane,
        "INS" | "DUP" | "EXT" | "TBL" | "TBX" => Class::Shuffle,
        _ if begins(&["ZIP", "UZP", "TRN", "REV", "XTN", "SHLL"]) => Class::Shuffle,
        _ => Class::Vector,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(word: u32) -> Instruction {
        decode(0x1000, &word.to_le_bytes()).expect("it is one")
    }

    #[test]
    fn results_stand_first_and_zero_is_no_register() {
        // add x1, x0, w1, sxtw #3; cmp x1, x0; mul x0, x1, x2; movk x20, #0x9249, lsl #16
        let add = decoded(0x8b21_cc01);
        assert_eq!((add.class, add.sources.all(), add.results.all()), (Class::Address, &[0, 1][..], &[1][..]));
        let compare = decoded(0xeb00_003f);
        assert_eq!((compare.sources.all(), compare.results.all()), (&[1, 0][..], &[FLAGS][..]));
        let multiply = decoded(0x9b02_7c20);
        assert_eq!((multiply.class, multiply.sources.all()), (Class::Multiply, &[1, 2][..]));
        assert_eq!(decoded(0xf2b2_4934).sources.all(), &[20]);
        // mov x29, sp; mov x21, x0; csel x0, x1, x2, eq
        assert!(decoded(0x9100_03fd).is_renamed && decoded(0xaa00_03f5).is_renamed);
        assert_eq!(decoded(0x9a82_0020).sources.all(), &[1, 2, FLAGS]);
    }

    #[test]
    fn addresses_are_bases_and_their_additions_no_chain() {
        // ldr d1, [x0], #8; stp x29, x30, [sp, #-48]!; ldr x2, [x21, x3, lsl #3]
        let load = decoded(0xfc40_8401);
        assert_eq!((load.bases.all(), load.results.all()), (&[0][..], &[VECTORS + 1][..]));
        assert_eq!((load.class, load.is_vector, load.operations), (Class::Nothing, true, 2));
        let store = decoded(0xa9bd_7bfd);
        assert_eq!((store.bases.all(), store.sources.all()), (&[STACK_POINTER][..], &[29, 30][..]));
        assert!(store.results.all().is_empty());
        assert_eq!(decoded(0xf863_7aa2).bases.all(), &[21, 3]);
    }

    #[test]
    fn classes_are_those_of_the_instructions() {
        // fdiv d1, d2, d1; fadd d0, d0, d1; fmadd d0, d1, d2, d3; fmla v0.2d, v1.2d, v2.2d; udiv x0, x1, x2
        assert_eq!(decoded(0x1e61_1841).class, Class::FloatDivide64);
        assert_eq!(decoded(0x1e61_2800).class, Class::FloatAdd);
        assert_eq!((decoded(0x1f42_0c20).class, decoded(0x1f42_0c20).sources.all()), (Class::Fused, &[33, 34, 35][..]));
        assert_eq!((decoded(0x4e62_cc20).class, decoded(0x4e62_cc20).sources.all()), (Class::Fused, &[32, 33, 34][..]));
        assert_eq!(decoded(0x9ac2_0820).class, Class::Divide64);
        // fcmp d0, d1; scvtf d0, w1; fmov x0, d1; nop
        assert_eq!(
            (decoded(0x1e61_2000).class, decoded(0x1e61_2000).results.all()),
            (Class::FloatCompare, &[FLAGS][..])
        );
        assert_eq!(decoded(0x1e62_0020).class, Class::ConvertInteger);
        assert_eq!(decoded(0x9e66_0020).class, Class::Transfer);
        assert_eq!(decoded(0xd503_201f).class, Class::Nothing);
        // ldaxr x3, [x1]; stlxr w4, x2, [x1]; ldaddal x2, x3, [x1]
        assert_eq!(decoded(0xc85f_fc23).results.all(), &[3]);
        let store = decoded(0xc804_fc22);
        assert_eq!((store.class, store.sources.all(), store.results.all()), (Class::Locked, &[2][..], &[4][..]));
        let add = decoded(0xf8e2_0023);
        assert_eq!((add.class, add.sources.all(), add.results.all()), (Class::Locked, &[2][..], &[3][..]));
        assert!(decode(0, &[0xff; 4]).is_none());
    }

    #[test]
    fn branches_are_told_apart() {
        // b.le .; bl .; blr x3; br x3; ret; cbz x0, .; tbnz w0, #3, .; b .
        let flows =
            [0x5400_000d, 0x9400_0000, 0xd63f_0060, 0xd61f_0060, 0xd65f_03c0, 0xb400_0000, 0x3718_0000, 0x1400_0000];
        let told: Vec<Flow> = flows.iter().map(|word| decoded(*word).flow).collect();
        let conditional = Flow::Conditional;
        assert_eq!(told[..4], [conditional, Flow::Call, Flow::IndirectCall, Flow::Indirect]);
        assert_eq!(told[4..], [Flow::Return, conditional, conditional, Flow::Jump]);
        assert_eq!(decoded(0x5400_000d).sources.all(), &[FLAGS]);
        assert_eq!(decoded(0x9400_0000).results.all(), &[LINK]);
    }
}
