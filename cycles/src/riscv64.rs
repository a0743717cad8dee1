//! Instructions of RV64GC.
//!
//! Takes the bytes of an instruction and its address, gives an [`Instruction`]. Fields and opcodes are those of The
//! RISC-V Instruction Set Manual, Volume I (20240411): chapters 2, 12 to 14, 20, 21, 27 and 34. No decoder that is kept
//! up knows floating-point numbers. Refuses vectors ("V") and what is reserved.

use crate::instruction::{Class, Flow, Instruction, Register, Registers, unknown};

/// Registers 0 to 31 are integers; those of floating-point numbers follow.
const FLOATS: Register = 32;
/// Of integers: the one that is always zero, the return address, the stack pointer, the other link register.
const ZERO: Register = 0;
const RETURN: Register = 1;
const STACK: Register = 2;
const LINK: Register = 5;

/// The instruction that these bytes are.
#[must_use]
pub fn decode(address: u64, bytes: &[u8]) -> Option<Instruction> {
    match *bytes {
        [a, b] => compressed(address, u16::from_le_bytes([a, b]).into()),
        [a, b, c, d] => whole(address, u32::from_le_bytes([a, b, c, d])),
        _ => None,
    }
}

/// Bits of a word, from the lowest one on.
fn bits(word: u32, low: u32, count: u32) -> u32 {
    word >> low & ((1 << count) - 1)
}

/// A register that is an integer's.
fn integer(word: u32, low: u32) -> Register {
    bits(word, low, 5) as Register
}

/// A register that is a floating-point number's.
fn float(word: u32, low: u32) -> Register {
    FLOATS + integer(word, low)
}

fn regs(registers: &[Register]) -> Registers {
    let mut all = Registers::default();
    registers.iter().filter(|register| **register != ZERO).for_each(|register| all.add(*register));
    all
}

/// An instruction while it is put together.
struct Draft(Instruction);

impl Draft {
    /// Computes a result.
    fn computes(self, class: Class, result: Register, sources: &[Register]) -> Option<Instruction> {
        Some(Instruction { class, sources: regs(sources), results: regs(&[result]), ..self.0 })
    }

    /// Copies a register: that is done when it is named.
    fn copies(self, class: Class, result: Register, source: Register) -> Option<Instruction> {
        let copy = self.computes(class, result, &[source])?;
        Some(Instruction { is_renamed: true, ..copy })
    }

    fn loads(self, result: Register, base: Register) -> Option<Instruction> {
        let is_vector = result >= FLOATS;
        Some(Instruction { class: Class::Nothing, bases: regs(&[base]), results: regs(&[result]), is_vector, ..self.0 })
    }

    fn stores(self, source: Register, base: Register) -> Option<Instruction> {
        let is_vector = source >= FLOATS;
        Some(Instruction { class: Class::Nothing, bases: regs(&[base]), sources: regs(&[source]), is_vector, ..self.0 })
    }

    fn goes(self, flow: Flow, result: Register, sources: &[Register]) -> Option<Instruction> {
        let goes = self.computes(Class::Branch, result, sources)?;
        Some(Instruction { flow, ..goes })
    }

    /// Goes where a register says: what is kept of the way back tells calls and returns (2.5.1 of the manual).
    fn goes_to(self, result: Register, to: Register) -> Option<Instruction> {
        let is_link = |register: Register| register == RETURN || register == LINK;
        let flow = match (is_link(result), is_link(to)) {
            (true, _) => Flow::IndirectCall,
            (false, true) => Flow::Return,
            (false, false) => Flow::Indirect,
        };
        self.goes(flow, result, &[to])
    }
}

fn whole(address: u64, word: u32) -> Option<Instruction> {
    let made = Draft(unknown(address, 4));
    let (to, one, other) = (integer(word, 7), integer(word, 15), integer(word, 20));
    let (kind, rest) = (bits(word, 12, 3), bits(word, 25, 7));
    match bits(word, 0, 7) {
        0x03 => made.loads(to, one),
        0x07 if matches!(kind, 1..=4) => made.loads(float(word, 7), one),
        0x0f | 0x17 | 0x37 => made.computes(Class::Simple, to, &[]),
        // addi with nothing to add.
        0x13 if kind == 0 && word >> 20 == 0 => made.copies(Class::Simple, to, one),
        // clz, ctz and cpop.
        0x13 | 0x1b if kind == 1 && rest & 0x7e == 0x30 && other < 3 => made.computes(Class::Scan, to, &[one]),
        0x13 | 0x1b => made.computes(Class::Simple, to, &[one]),
        0x23 => made.stores(other, one),
        0x27 if matches!(kind, 1..=4) => made.stores(float(word, 20), one),
        0x2f => atomic(made, word),
        0x33 | 0x3b if rest == 1 => {
            let is_wide = word & 8 == 0;
            let class = match (kind, is_wide) {
                (0..=3, _) => Class::Multiply,
                (_, true) => Class::Divide64,
                (_, false) => Class::Divide32,
            };
            made.computes(class, to, &[one, other])
        }
        0x33 | 0x3b => made.computes(Class::Simple, to, &[one, other]),
        0x43 | 0x47 | 0x4b | 0x4f => {
            made.computes(Class::Fused, float(word, 7), &[float(word, 15), float(word, 20), float(word, 27)])
        }
        0x53 => floating(made, word),
        0x63 => made.goes(Flow::Conditional, ZERO, &[one, other]),
        0x67 => made.goes_to(to, one),
        0x6f if to == RETURN || to == LINK => made.goes(Flow::Call, to, &[]),
        0x6f => made.goes(Flow::Jump, to, &[]),
        0x73 => made.computes(Class::System, to, &[]),
        _ => None,
    }
}

/// Loads that reserve, stores on condition, and what reads and writes at once.
fn atomic(made: Draft, word: u32) -> Option<Instruction> {
    let (to, base, source) = (integer(word, 7), integer(word, 15), integer(word, 20));
    Some(Instruction {
        class: Class::Locked,
        bases: regs(&[base]),
        sources: regs(&[source]),
        results: regs(&[to]),
        operations: 2,
        ..made.0
    })
}

/// Of floating-point numbers, but for what multiplies and adds.
fn floating(made: Draft, word: u32) -> Option<Instruction> {
    let (to, one, other) = (float(word, 7), float(word, 15), float(word, 20));
    let by_size = |single, double| if bits(word, 25, 2) == 1 { double } else { single };
    let two = |made: Draft, class| made.computes(class, to, &[one, other]);
    let is_copy = one == other && bits(word, 12, 3) == 0;
    match bits(word, 27, 5) {
        0x00 | 0x01 => two(made, Class::FloatAdd),
        0x02 => two(made, Class::FloatMultiply),
        0x03 => two(made, by_size(Class::FloatDivide32, Class::FloatDivide64)),
        0x04 if is_copy => made.copies(Class::Vector, to, one),
        0x04 => two(made, Class::Vector),
        0x05 => two(made, Class::FloatSelect),
        0x08 => made.computes(Class::Convert, to, &[one]),
        0x0b => made.computes(by_size(Class::Root32, Class::Root64), to, &[one]),
        0x14 => made.computes(Class::FloatCompare, integer(word, 7), &[one, other]),
        0x18 => made.computes(Class::ConvertInteger, integer(word, 7), &[one]),
        0x1a => made.computes(Class::ConvertInteger, to, &[integer(word, 15)]),
        0x1c => made.computes(Class::Transfer, integer(word, 7), &[one]),
        0x1e => made.computes(Class::Transfer, to, &[integer(word, 15)]),
        _ => None,
    }
}

/// Those of two bytes.
fn compressed(address: u64, word: u32) -> Option<Instruction> {
    let made = Draft(unknown(address, 2));
    // Registers of three bits are 8 to 15.
    let small = |low| 8 + bits(word, low, 3) as Register;
    let (to, other) = (integer(word, 7), integer(word, 2));
    let (low, high) = (small(2), small(7));
    match (bits(word, 0, 2), bits(word, 13, 3)) {
        (0, 0) if word != 0 => made.computes(Class::Simple, low, &[STACK]),
        (0, 1) => made.loads(FLOATS + low, high),
        (0, 2 | 3) => made.loads(low, high),
        (0, 5) => made.stores(FLOATS + low, high),
        (0, 6 | 7) => made.stores(low, high),
        (1, 0 | 1) => made.computes(Class::Simple, to, &[to]),
        (1, 3) if to == STACK => made.computes(Class::Simple, to, &[to]),
        (1, 2 | 3) => made.computes(Class::Simple, to, &[]),
        (1, 4) if bits(word, 10, 2) < 3 => made.computes(Class::Simple, high, &[high]),
        (1, 4) if bits(word, 12, 1) == 0 || bits(word, 6, 1) == 0 => made.computes(Class::Simple, high, &[high, low]),
        (1, 5) => made.goes(Flow::Jump, ZERO, &[]),
        (1, 6 | 7) => made.goes(Flow::Conditional, ZERO, &[high]),
        (2, 0) => made.computes(Class::Simple, to, &[to]),
        (2, 1) => made.loads(FLOATS + to, STACK),
        (2, 2 | 3) if to != ZERO => made.loads(to, STACK),
        (2, 4) => match (bits(word, 12, 1), to, other) {
            (0, ZERO, ZERO) => None,
            (0, _, ZERO) => made.goes_to(ZERO, to),
            (0, ..) => made.copies(Class::Simple, to, other),
            (_, ZERO, ZERO) => made.computes(Class::System, ZERO, &[]),
            (_, _, ZERO) => made.goes_to(RETURN, to),
            (..) => made.computes(Class::Simple, to, &[to, other]),
        },
        (2, 5) => made.stores(FLOATS + other, STACK),
        (2, 6 | 7) => made.stores(other, STACK),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_word(word: u32) -> Instruction {
        decode(0x1000, &word.to_le_bytes()).expect("it is one")
    }

    fn of_half(word: u16) -> Instruction {
        decode(0x1000, &word.to_le_bytes()).expect("it is one")
    }

    #[test]
    fn classes_are_those_of_the_instructions() {
        // fdiv.d fa5,fa5,fa2; fadd.d fa0,fa0,fa5; fmadd.d; fsqrt.d; fcvt.d.w; fmv.x.d
        assert_eq!(of_word(0x1af7_f7d3).class, Class::FloatDivide64);
        let add = of_word(0x02f5_7553);
        assert_eq!((add.class, add.sources.all(), add.results.all()), (Class::FloatAdd, &[42, 47][..], &[42][..]));
        assert_eq!(of_word(0x22a5_06d3).class, Class::Vector);
        assert!(of_word(0x22a5_06d3).is_renamed, "fmv.d fa3,fa0");
        // remu a2,a4,t1; mul a5,a5,a4; divw a0,a0,a1
        assert_eq!(of_word(0x0267_7633).class, Class::Divide64);
        assert_eq!(of_word(0x02e7_87b3).class, Class::Multiply);
        assert_eq!(of_word(0x02b5_453b).class, Class::Divide32);
        // amoadd.d.aqrl zero,a0,(a1)
        let atomic = of_word(0x06a5_b02f);
        assert_eq!((atomic.class, atomic.bases.all(), atomic.sources.all()), (Class::Locked, &[11][..], &[10][..]));
        assert!(atomic.results.all().is_empty());
        // vadd.vv v1,v2,v3
        assert!(decode(0, &0x0221_80d7u32.to_le_bytes()).is_none());
    }

    #[test]
    fn what_is_kept_of_the_way_back_tells_calls_and_returns() {
        // ret; jr a5; jalr a5; jal ra,.; j .; blez a1,.
        assert_eq!(of_half(0x8082).flow, Flow::Return);
        assert_eq!(of_half(0x8782).flow, Flow::Indirect);
        assert_eq!(of_half(0x9782).flow, Flow::IndirectCall);
        assert_eq!(of_word(0x0000_00ef).flow, Flow::Call);
        assert_eq!(of_half(0xa001).flow, Flow::Jump);
        let branch = of_word(0x02b0_5663);
        assert_eq!((branch.flow, branch.sources.all()), (Flow::Conditional, &[11][..]));
    }

    #[test]
    fn short_instructions_name_the_same_registers() {
        // fld fa5,0(a0); ld a4,0(a5); slli a1,a1,3; mv a5,a0; add a1,a1,a0; li a3,1; sd ra,8(sp)
        let load = of_half(0x211c);
        assert_eq!((load.bases.all(), load.results.all(), load.is_vector), (&[10][..], &[47][..], true));
        assert_eq!(of_half(0x6398).results.all(), &[14]);
        assert_eq!(of_half(0x058e).sources.all(), &[11]);
        assert!(of_half(0x87aa).is_renamed);
        assert_eq!(of_half(0x95aa).sources.all(), &[11, 10]);
        assert!(of_half(0x4685).sources.all().is_empty());
        let store = of_half(0xe406);
        assert_eq!((store.bases.all(), store.sources.all()), (&[2][..], &[1][..]));
        assert!(decode(0, &[0, 0]).is_none());
    }
}
