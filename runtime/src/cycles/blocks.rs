//! Code of a ring's modules, decoded.

use std::collections::BTreeSet;

use dmdprof_cycles::{
    Access, Block,
    decode::{InstructionSet, unknown},
    instruction::Instruction,
};

use super::merged::{CodeKey, MergedCode};
use crate::{
    abi::{Item, ItemKind, emulated::instruction_set},
    decode::locator::{Module, SegmentNumber},
    sites::{BatchCode, BatchInstruction},
};

/// What a segment is to whoever follows instructions.
#[derive(Clone, Copy)]
pub enum SegmentRole {
    /// Code: number of its block.
    Code(usize),
    /// Accesses of the block at hand: range of [`Blocks::accesses`].
    Accesses(usize, usize),
    /// Nothing.
    Nothing,
}

/// An access of a segment, and the word of the record that has its address.
#[derive(Clone, Copy)]
pub struct Prepared {
    pub access: Access,
    pub word: u16,
    /// Frame of the table.
    pub frame: u32,
}

/// A block, and where it is from.
pub struct NewBlock {
    pub key: CodeKey,
    pub block: Block,
    /// Without tallies.
    pub code: MergedCode,
}

/// All blocks of a ring.
#[derive(Default)]
pub struct Blocks {
    pub list: Vec<NewBlock>,
    pub accesses: Vec<Prepared>,
    /// By segment's number in the ring.
    known: Vec<SegmentRole>,
}

impl Blocks {
    /// Takes note of a module that the ring has not met.
    pub fn add(&mut self, module: &Module) {
        let table = &module.placed.table;
        for (number, segment) in (0u32..).zip(&table.segments) {
            let known = match table.code.get(&number) {
                Some(code) => {
                    self.list.push(new_block((module.placed.id, number), code));
                    SegmentRole::Code(self.list.len() - 1)
                }
                None if segment.items.is_empty() => SegmentRole::Nothing,
                None => {
                    let first = self.accesses.len();
                    let items = segment.items.start as usize..segment.items.end as usize;
                    let numbers = table.instructions.get(items.clone()).unwrap_or_default();
                    self.accesses.extend(table.items[items].iter().zip(numbers).filter_map(prepared));
                    SegmentRole::Accesses(first, self.accesses.len())
                }
            };
            self.known.push(known);
        }
    }

    pub fn segment_role(&self, segment: SegmentNumber) -> SegmentRole {
        self.known.get(segment.index()).copied().unwrap_or(SegmentRole::Nothing)
    }
}

fn prepared((item, &instruction): (&Item, &u16)) -> Option<Prepared> {
    let is_store = item.kind == ItemKind::Store as u8;
    let access = Access { instruction, is_store, bytes: item.size, address: 0 };
    let is_access = is_store || item.kind == ItemKind::Load as u8;
    is_access.then_some(Prepared { access, word: item.word, frame: item.frame })
}

/// The set that a program names by a number; of one that is not known, nothing is decoded.
fn set(number: u16) -> Option<InstructionSet> {
    match number {
        instruction_set::X86 => Some(InstructionSet::X86),
        instruction_set::AARCH64 => Some(InstructionSet::Aarch64),
        instruction_set::RISCV64 => Some(InstructionSet::Riscv64),
        _ => None,
    }
}

fn new_block(key: CodeKey, BatchCode { instruction_set, instructions: code }: &BatchCode) -> NewBlock {
    let set = set(*instruction_set);
    let mut not_known = Vec::new();
    let instruction = |one: &BatchInstruction| -> Instruction {
        set.and_then(|set| set.decode(one.address, &one.bytes)).unwrap_or_else(|| {
            not_known.push(one.bytes.clone().into());
            unknown(one.address, one.bytes.len() as u8)
        })
    };
    let decoded = code.iter().map(instruction).collect();
    let frames: Vec<u32> = code.iter().map(|one| one.frame).collect::<BTreeSet<u32>>().into_iter().collect();
    let place = |one: &BatchInstruction| frames.partition_point(|frame| *frame < one.frame) as u16;
    let block = Block { instructions: decoded, places: code.iter().map(place).collect(), count: frames.len() as u16 };
    let last = block.places.last().copied().unwrap_or(0);
    let mut instructions = vec![0; frames.len()];
    block.places.iter().for_each(|place| instructions[usize::from(*place)] += 1);
    NewBlock { key, block, code: MergedCode { frames, instructions, last, unknown: not_known, tallies: Vec::new() } }
}
