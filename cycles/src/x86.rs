//! Instructions of x86-64.
//!
//! Takes the bytes of an instruction and its address, gives an [`Instruction`]. Refuses what the decoder does not know.

use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction as Decoded, InstructionInfo, InstructionInfoFactory, Mnemonic,
    OpAccess, OpKind, Register as Named, UsedRegister,
};

use crate::instruction::{Class, Flow, Instruction, Register, Registers};

const VECTORS: Register = 16;
const MASKS: Register = 48;
const X87: Register = 56;
const FLAGS: Register = 57;
const STACK_POINTER: Register = 4;

/// The instruction that these bytes are.
#[must_use]
pub fn decode(address: u64, bytes: &[u8]) -> Option<Instruction> {
    let decoded = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE).decode();
    if decoded.is_invalid() {
        return None;
    }
    let mut factory = InstructionInfoFactory::new();
    Some(instruction(&decoded, factory.info(&decoded)))
}

fn instruction(decoded: &Decoded, info: &InstructionInfo) -> Instruction {
    let name = format!("{:?}", decoded.mnemonic()).to_lowercase();
    // Vectors of today have the same operations under names with a `v`.
    let plain = name.strip_prefix('v').filter(|_| !name.starts_with("ver")).unwrap_or(&name);
    let mut reads = false;
    let mut writes = false;
    let mut bases = Registers::default();
    for memory in info.used_memory() {
        reads |= is_read(memory.access());
        writes |= is_written(memory.access());
        [memory.base(), memory.index()].into_iter().filter_map(number).for_each(|register| bases.add(register));
    }
    let is_stack = decoded.is_stack_instruction();
    let (mut sources, mut results) = (Registers::default(), Registers::default());
    let is_value =
        |register: Register| !(reads || writes) || !bases.all().contains(&register) || named(decoded, register);
    // Whatever moves the stack pointer by a constant is foretold.
    let counts = |used: &UsedRegister| number(used.register()).filter(|n| !(is_stack && *n == STACK_POINTER));
    for used in info.used_registers() {
        let Some(register) = counts(used) else { continue };
        if is_read(used.access()) && is_value(register) {
            sources.add(register);
        }
        if is_written(used.access()) {
            results.add(register);
        }
    }
    if decoded.rflags_read() != 0 {
        sources.add(FLAGS);
    }
    if decoded.rflags_modified() != 0 {
        results.add(FLAGS);
    }
    let flow = flow(decoded);
    let touches = reads || writes;
    let moves = plain.starts_with("mov") || plain.starts_with("push") || plain.starts_with("pop") && plain != "popcnt";
    let is_copy = !touches && moves && is_copy(decoded, plain);
    let is_vector = has_register(decoded, is_vector);
    let class = match flow {
        Flow::Next if touches && moves => Class::Nothing,
        Flow::Next => class(decoded, plain, is_vector),
        _ => Class::Branch,
    };
    // A register that is set to zero by itself, or to a constant, waits for nothing.
    let is_constant = !touches && sources.all().is_empty() && matches!(class, Class::Simple | Class::Vector);
    Instruction {
        address: decoded.ip(),
        bytes: decoded.len() as u8,
        class,
        flow,
        bases,
        sources,
        results,
        is_renamed: is_copy || is_constant && plain.contains("xor"),
        is_vector,
        operations: if touches && (reads && writes || writes && class != Class::Nothing && flow == Flow::Next) {
            2
        } else {
            1
        },
    }
}

fn is_read(access: OpAccess) -> bool {
    matches!(access, OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite | OpAccess::ReadCondWrite)
}

fn is_written(access: OpAccess) -> bool {
    matches!(access, OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite)
}

fn is_vector(register: Named) -> bool {
    register.is_vector_register() || register.is_mm()
}

/// Number of a register; none for those that nobody waits for.
fn number(register: Named) -> Option<Register> {
    let full = register.full_register();
    if full.is_gpr64() {
        Some(full.number() as Register)
    } else if full.is_vector_register() {
        Some(VECTORS + full.number() as Register)
    } else if full.is_k() {
        Some(MASKS + full.number() as Register)
    } else if full.is_st() || full.is_mm() {
        Some(X87)
    } else {
        None
    }
}

/// Whether a register is an operand of its own, and not only a part of an address.
fn named(decoded: &Decoded, register: Register) -> bool {
    has_register(decoded, |operand| number(operand) == Some(register))
}

/// Whether an operand is such a register.
fn has_register(decoded: &Decoded, is_such: impl Fn(Named) -> bool) -> bool {
    (0..decoded.op_count()).any(|n| decoded.op_kind(n) == OpKind::Register && is_such(decoded.op_register(n)))
}

/// From one register to another, all of it.
fn is_copy(decoded: &Decoded, plain: &str) -> bool {
    let is_whole = |n| decoded.op_kind(n) == OpKind::Register && decoded.op_register(n).size() >= 4;
    let is_simple = matches!(plain, "mov" | "movaps" | "movapd" | "movups" | "movupd" | "movdqa" | "movdqu");
    is_simple && decoded.op_count() == 2 && is_whole(0) && is_whole(1)
}

fn flow(decoded: &Decoded) -> Flow {
    match decoded.flow_control() {
        FlowControl::UnconditionalBranch => Flow::Jump,
        FlowControl::ConditionalBranch => Flow::Conditional,
        FlowControl::IndirectBranch => Flow::Indirect,
        FlowControl::Call if decoded.mnemonic() == Mnemonic::Call => Flow::Call,
        FlowControl::IndirectCall => Flow::IndirectCall,
        FlowControl::Return => Flow::Return,
        _ => Flow::Next,
    }
}

/// What an instruction does that goes on to the next one.
fn class(decoded: &Decoded, name: &str, is_vector: bool) -> Class {
    if decoded.has_lock_prefix() || decoded.mnemonic() == Mnemonic::Xchg && decoded.memory_size().size() > 0 {
        return Class::Locked;
    }
    if is_vector {
        return vector_class(decoded, name);
    }
    let is_wide =
        decoded.op_count() > 0 && decoded.op0_kind() == OpKind::Register && decoded.op0_register().size() == 8
            || decoded.memory_size().size() == 8;
    match name {
        "imul" | "mul" | "mulx" => Class::Multiply,
        "div" | "idiv" if is_wide => Class::Divide64,
        "div" | "idiv" => Class::Divide32,
        "lea" if is_three_parts(decoded) => Class::Address,
        "bsf" | "bsr" | "tzcnt" | "lzcnt" => Class::Scan,
        "pdep" | "pext" | "shld" | "shrd" | "xchg" | "xadd" | "bts" | "btr" | "btc" | "cmpxchg" => Class::Several,
        "cpuid" | "rdtsc" | "rdtscp" | "syscall" | "xgetbv" => Class::System,
        "nop" | "endbr64" | "pause" => Class::Nothing,
        _ if name.starts_with("prefetch") => Class::Nothing,
        "fdiv" | "fdivp" | "fdivr" | "fdivrp" | "fidiv" => Class::FloatDivide64,
        "fsqrt" => Class::Root64,
        _ if decoded.is_privileged() => Class::System,
        _ if decoded.fpu_stack_increment_info().increment() != 0 || name.starts_with('f') => Class::X87,
        _ => Class::Simple,
    }
}

/// Whether the address that `lea` computes has three parts, or a scaled one.
fn is_three_parts(decoded: &Decoded) -> bool {
    let has_index = decoded.memory_index() != Named::None;
    let has_base = decoded.memory_base() != Named::None;
    has_index && (has_base && decoded.memory_displacement64() != 0 || decoded.memory_index_scale() > 1)
}

fn vector_class(decoded: &Decoded, name: &str) -> Class {
    let begins = |words: &[&str]| words.iter().any(|word| name.starts_with(word));
    let is_double = name.ends_with('d') && !name.ends_with("dqd");
    let uses_integers = has_register(decoded, Named::is_gpr);
    let by_type = |single, double| if is_double { double } else { single };
    if begins(&["divs", "divp"]) {
        by_type(Class::FloatDivide32, Class::FloatDivide64)
    } else if begins(&["sqrt"]) {
        by_type(Class::Root32, Class::Root64)
    } else if begins(&["fmadd", "fmsub", "fnmadd", "fnmsub"]) {
        Class::Fused
    } else if begins(&["muls", "mulp", "pmul", "pmadd", "psadbw"]) {
        Class::FloatMultiply
    } else if begins(&["adds", "addp", "subs", "subp", "haddp", "hsubp", "addsub", "round"]) {
        Class::FloatAdd
    } else if begins(&["maxs", "maxp", "mins", "minp", "cmps", "cmpp", "cmpeq", "cmplt", "cmple", "cmpn", "cmpunord"]) {
        Class::FloatSelect
    } else if begins(&["ucomis", "comis"]) {
        Class::FloatCompare
    } else if begins(&["cvt"]) {
        if uses_integers { Class::ConvertInteger } else { Class::Convert }
    } else if begins(&["perm", "extracti", "extractf", "inserti", "insertf"]) {
        Class::CrossLane
    } else if begins(&["pextr", "pinsr", "movmsk", "pmovmsk", "ptest"]) {
        Class::Extract
    } else if begins(&[
        "punpck",
        "unpck",
        "pshuf",
        "shufp",
        "palignr",
        "pack",
        "broadcast",
        "pbroadcast",
        "movddup",
        "movlhps",
        "movhlps",
        "insertps",
        "pblend",
        "blend",
        "pmovzx",
        "pmovsx",
    ]) {
        Class::Shuffle
    } else if uses_integers {
        Class::Transfer
    } else {
        Class::Vector
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(bytes: &[u8]) -> Instruction {
        decode(0x1000, bytes).expect("it is one")
    }

    #[test]
    fn an_addition_to_memory_waits_for_its_base_and_its_value() {
        // add qword ptr [rbx+8], rax
        let add = decoded(&[0x48, 0x01, 0x43, 0x08]);
        assert_eq!((add.bytes, add.class, add.flow, add.operations), (4, Class::Simple, Flow::Next, 2));
        assert_eq!((add.bases.all(), add.sources.all(), add.results.all()), (&[3][..], &[0][..], &[FLAGS][..]));
    }

    #[test]
    fn what_waits_for_nothing_is_renamed() {
        // xor eax, eax; mov rax, rbx
        assert!(decoded(&[0x31, 0xc0]).is_renamed && decoded(&[0x31, 0xc0]).sources.all().is_empty());
        assert!(decoded(&[0x48, 0x89, 0xd8]).is_renamed);
        // mov rax, [rbx]
        let load = decoded(&[0x48, 0x8b, 0x03]);
        assert_eq!((load.class, load.is_renamed, load.sources.all()), (Class::Nothing, false, &[][..]));
    }

    #[test]
    fn the_stack_pointer_is_no_chain() {
        let push = decoded(&[0x55]);
        assert_eq!((push.sources.all(), push.results.all()), (&[5][..], &[][..]));
        assert_eq!(decoded(&[0xc3]).flow, Flow::Return);
        assert_eq!(decoded(&[0xe8, 0, 0, 0, 0]).flow, Flow::Call);
        // call [rax]
        assert_eq!(decoded(&[0xff, 0x10]).flow, Flow::IndirectCall);
        assert_eq!(decoded(&[0x74, 0x02]).flow, Flow::Conditional);
    }

    #[test]
    fn classes_are_those_of_the_instructions() {
        // vfmadd231sd xmm0, xmm1, xmm2; divsd xmm0, xmm1; sqrtss xmm0, xmm1; idiv rbx; div ecx
        assert_eq!(decoded(&[0xc4, 0xe2, 0xf1, 0xb9, 0xc2]).class, Class::Fused);
        assert_eq!(decoded(&[0xf2, 0x0f, 0x5e, 0xc1]).class, Class::FloatDivide64);
        assert_eq!(decoded(&[0xf3, 0x0f, 0x51, 0xc1]).class, Class::Root32);
        assert_eq!(decoded(&[0x48, 0xf7, 0xfb]).class, Class::Divide64);
        assert_eq!(decoded(&[0xf7, 0xf1]).class, Class::Divide32);
        // lock add [rax], ebx; lea rax, [rbx+rcx*8+4]; rep movsb
        assert_eq!(decoded(&[0xf0, 0x01, 0x18]).class, Class::Locked);
        assert_eq!(decoded(&[0x48, 0x8d, 0x44, 0xcb, 0x04]).class, Class::Address);
        assert_eq!(decoded(&[0xf3, 0xa4]).flow, Flow::Next, "it repeats itself, and is no branch by that");
        assert!(decode(0, &[0x06]).is_none());
    }
}
