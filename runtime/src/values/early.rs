//! Steps before a region begins, and the phis of both.
//!
//! All that matters before a region is what has been loaded from its declared inputs too early. Takes the steps of a
//! segment; writes to its function's registers which of them hold such a value.

use super::labels::EARLY;
use crate::{
    abi::Item,
    shadow::ByteLabel,
    steps::{Registers, StepKind, accessed_register},
};

/// Registers that phis of a block write, with what they write.
#[derive(Default)]
pub struct Phis(Vec<(u32, ByteLabel)>);

impl Phis {
    /// Neighbouring phis read before any of them writes; gives the index of the last.
    pub fn apply(&mut self, items: &[Item], first: usize, record: &[u64], registers: &mut [ByteLabel]) -> usize {
        self.0.clear();
        let mut last = first;
        for (index, item) in items.iter().enumerate().skip(first) {
            if item.kind != StepKind::PhiMove as u8 {
                break;
            }
            last = index;
            if record[usize::from(item.word)] == u64::from(item.lanes) {
                let Registers { dst, a, .. } = Registers::from_item(item);
                self.0.push((dst, registers[a as usize]));
            }
        }
        for &(dst, label) in &self.0 {
            registers[dst as usize] = label;
        }
        last
    }
}

/// Does the steps of a segment before the region begins: all that matters is what has been loaded from its inputs
/// too early.
pub fn follow_early(
    declarations: &[(u64, u64)],
    items: &[Item],
    record: &[u64],
    phis: &mut Phis,
    registers: &mut [ByteLabel],
) {
    let mut index = 0;
    while index < items.len() {
        let item = &items[index];
        let Registers { dst, a, b, c } = Registers::from_item(item);
        let (dst, a, b, c) = (dst as usize, a as usize, b as usize, c as usize);
        match StepKind::from_number(item.kind) {
            Some(StepKind::PhiMove) => index = phis.apply(items, index, record, registers),
            Some(StepKind::Load) => {
                let address = record[usize::from(item.word)].wrapping_add_signed(item.offset);
                let is_input = declarations.iter().any(|(start, len)| address.wrapping_sub(*start) < *len);
                registers[accessed_register(item) as usize] = if is_input { EARLY } else { 0 };
            }
            Some(StepKind::Op | StepKind::Fma | StepKind::Convert | StepKind::Move) => {
                registers[dst] = registers[a].max(registers[b]).max(registers[c]);
                if item.lanes == 2 {
                    registers[dst + 1] = registers[dst];
                }
            }
            Some(StepKind::Select) => {
                let taken = record[usize::from(item.word)] >> (item.lanes & 63) & 1 == 1;
                registers[dst] = registers[if taken { a } else { b }];
            }
            Some(StepKind::Result | StepKind::Parameter) => registers[dst] = 0,
            _ => {}
        }
        registers[0] = 0;
        index += 1;
    }
}
