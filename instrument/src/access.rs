//! One access to memory, as the planners need it.

use dmdprof_abi::{COPY_BLOCK, ItemKind};

use crate::{
    lanes::{Mask, Places},
    llvm::ir::Value,
};

/// Bytes of an access: known now, or a value of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length<'m> {
    Fixed(u64),
    Dynamic(Value<'m>),
}

/// What the values model may follow: bytes that an access moves as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved<'m> {
    /// What is read is computed with, or what is written is a result.
    Nothing,
    /// What is read is the instruction's result; lanes that do not take part are those of an operand, or zero.
    Result { otherwise: Option<Value<'m>> },
    /// What is written is an operand.
    Operand(Value<'m>),
}

#[derive(Clone, Copy, Debug)]
pub struct Access<'m> {
    pub kind: ItemKind,
    pub flags: u8,
    pub address: Value<'m>,
    /// Added to `address`.
    pub offset: i64,
    /// Of one lane for masked kinds.
    pub length: Length<'m>,
    /// Of a copy.
    pub source: Option<Value<'m>>,
    /// Of masked kinds.
    pub mask: Option<Mask<'m>>,
    /// Of a gather or scatter.
    pub places: Option<Places<'m>>,
    pub lanes: u16,
    pub moved: Moved<'m>,
}

impl<'m> Access<'m> {
    #[must_use]
    pub fn new(kind: ItemKind, address: Value<'m>, length: Length<'m>) -> Self {
        Self {
            kind,
            flags: 0,
            address,
            offset: 0,
            length,
            source: None,
            mask: None,
            places: None,
            lanes: 0,
            moved: Moved::Nothing,
        }
    }
}

/// An access to many bytes, in blocks as any copy.
#[must_use]
pub fn blocks<'m>(kind: ItemKind, address: Value<'m>, size: u64) -> Vec<Access<'m>> {
    let block = |start: u64| {
        let length = Length::Fixed((size - start).min(COPY_BLOCK));
        Access { offset: start as i64, ..Access::new(kind, address, length) }
    };
    (0..size).step_by(COPY_BLOCK as usize).map(block).collect()
}
