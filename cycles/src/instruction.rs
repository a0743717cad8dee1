//! An instruction as a core sees it: the registers that it waits for and gives, what it occupies, where it may go.

use crate::figures::Figures;

/// A register: integers, then vectors or floating-point numbers, then what else an instruction set has, such as flags.
pub type Register = u8;

/// Registers of the instruction set that has most.
pub const REGISTERS: usize = 65;

/// Units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Port {
    /// Simple operations on integers.
    Alu,
    /// Multiplications of integers.
    Multiply,
    /// Divisions of integers.
    Divide,
    /// Additions of floating-point numbers.
    FloatAdd,
    /// Multiplications of floating-point numbers.
    FloatMultiply,
    /// Divisions and roots of floating-point numbers.
    FloatDivide,
    /// Simple operations on vectors.
    Vector,
    /// Moves of elements.
    Shuffle,
    /// Loads.
    Load,
    /// Stores.
    Store,
    /// Branches.
    Branch,
}

/// Number of kinds of units.
pub const PORTS: usize = 11;

impl Port {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; PORTS] = [
        Self::Alu,
        Self::Multiply,
        Self::Divide,
        Self::FloatAdd,
        Self::FloatMultiply,
        Self::FloatDivide,
        Self::Vector,
        Self::Shuffle,
        Self::Load,
        Self::Store,
        Self::Branch,
    ];
}

/// Declares the classes of instructions: unit, latency and time for which the unit is kept, by the core's numbers.
macro_rules! classes {
    ($($(#[doc = $meaning:literal])+ $class:ident: $port:ident, $latency:expr, $busy:expr;)+) => {
        /// What an instruction does, as far as it matters to how long it takes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Class {
            /// Needs no unit but for what it accesses.
            Nothing,
            $($(#[doc = $meaning])+ $class,)+
        }

        impl Class {
            /// All of them, in the order of their numbers.
            pub const ALL: &'static [Self] = &[Self::Nothing, $(Self::$class,)+];

            /// Unit, latency, and how long the unit is kept.
            #[must_use]
            pub fn cost(self, figures: &Figures) -> Option<(Port, u64, u64)> {
                match self {
                    Self::Nothing => None,
                    $(Self::$class => {
                        let latency: fn(&Figures) -> u64 = $latency;
                        let busy: fn(&Figures) -> u64 = $busy;
                        Some((Port::$port, latency(figures), busy(figures)))
                    })+
                }
            }
        }
    };
}

classes! {
    /// Simple, on integers.
    Simple: Alu, |_| 1, |_| 1;
    /// An address of three parts.
    Address: Alu, |f| f.address, |_| 1;
    /// Counts zeros, or finds a bit.
    Scan: Alu, |f| f.scan, |_| 1;
    /// Of a few simple operations.
    Several: Alu, |_| 3, |_| 2;
    /// Atomic.
    Locked: Alu, |f| f.locked, |_| 1;
    /// Asks the system or the processor.
    System: Alu, |_| 30, |_| 1;
    /// Multiplies integers.
    Multiply: Multiply, |f| f.multiply, |_| 1;
    /// Divides integers of up to 32 bits.
    Divide32: Divide, |f| f.divide_32, |f| f.divide_32_busy;
    /// Divides integers of 64 bits.
    Divide64: Divide, |f| f.divide_64, |f| f.divide_64_busy;
    /// Adds floating-point numbers.
    FloatAdd: FloatAdd, |f| f.float_add, |_| 1;
    /// The larger or smaller one, or a mask of which is.
    FloatSelect: FloatAdd, |_| 1, |_| 1;
    /// Compares into flags.
    FloatCompare: FloatAdd, |f| f.float_compare, |_| 1;
    /// Converts.
    Convert: FloatAdd, |f| f.convert, |_| 1;
    /// Converts from or to an integer register.
    ConvertInteger: FloatAdd, |f| f.convert_integer, |_| 1;
    /// An operation of the x87 unit.
    X87: FloatAdd, |f| f.x87, |_| 1;
    /// Multiplies floating-point numbers, or integers of vectors.
    FloatMultiply: FloatMultiply, |f| f.float_multiply, |_| 1;
    /// Multiplies and adds.
    Fused: FloatMultiply, |f| f.fused, |_| 1;
    /// Divides, single precision.
    FloatDivide32: FloatDivide, |f| f.float_divide_32, |f| f.float_divide_32_busy;
    /// Divides, double precision.
    FloatDivide64: FloatDivide, |f| f.float_divide_64, |f| f.float_divide_64_busy;
    /// A root, single precision.
    Root32: FloatDivide, |f| f.root_32, |f| f.root_32_busy;
    /// A root, double precision.
    Root64: FloatDivide, |f| f.root_64, |f| f.root_64_busy;
    /// Simple, on vectors.
    Vector: Vector, |_| 1, |_| 1;
    /// From an integer register to a vector or back.
    Transfer: Vector, |f| f.to_integer, |_| 1;
    /// Moves elements within a lane.
    Shuffle: Shuffle, |_| 1, |_| 1;
    /// Moves elements across lanes.
    CrossLane: Shuffle, |f| f.cross_lane, |_| 1;
    /// Takes elements or their signs to an integer register.
    Extract: Shuffle, |f| f.to_integer + 1, |_| 1;
    /// A branch.
    Branch: Branch, |_| 1, |_| 1;
}

/// Where an instruction goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// To the next one.
    Next,
    /// To a fixed place.
    Jump,
    /// There, or to the next one.
    Conditional,
    /// To a place that is computed.
    Indirect,
    /// To a function at a fixed place.
    Call,
    /// To a function whose address is computed.
    IndirectCall,
    /// Back.
    Return,
}

/// A few registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    count: u8,
    of: [Register; 7],
}

impl Registers {
    /// Adds one; those that find no room are left out.
    pub fn add(&mut self, register: Register) {
        if !self.all().contains(&register) && usize::from(self.count) < self.of.len() {
            self.of[usize::from(self.count)] = register;
            self.count += 1;
        }
    }

    /// All of them.
    #[must_use]
    #[inline(always)]
    pub fn all(&self) -> &[Register] {
        &self.of[..usize::from(self.count)]
    }
}

/// An instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Address.
    pub address: u64,
    /// Bytes of its code.
    pub bytes: u8,
    /// What it does.
    pub class: Class,
    /// Where it goes.
    pub flow: Flow,
    /// Registers that addresses are made of.
    pub bases: Registers,
    /// Registers whose values it needs.
    pub sources: Registers,
    /// Registers that it changes.
    pub results: Registers,
    /// A copy of a register, or a constant, that is done when it is named.
    pub is_renamed: bool,
    /// Loads and stores vectors or floating-point numbers.
    pub is_vector: bool,
    /// Operations that are dispatched for it.
    pub operations: u8,
}

/// What stands for an instruction that is not known.
#[must_use]
pub fn unknown(address: u64, bytes: u8) -> Instruction {
    Instruction {
        address,
        bytes,
        class: Class::Simple,
        flow: Flow::Next,
        bases: Registers::default(),
        sources: Registers::default(),
        results: Registers::default(),
        is_renamed: false,
        is_vector: false,
        operations: 1,
    }
}
