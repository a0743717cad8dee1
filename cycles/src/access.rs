//! What an instruction does to memory.

/// An access of an instruction of a block.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// Number of the instruction in its block.
    pub instruction: u16,
    /// It stores.
    pub is_store: bool,
    /// Bytes.
    pub bytes: u32,
    /// First byte.
    pub address: u64,
}

impl Access {
    /// Its last byte.
    #[must_use]
    #[inline(always)]
    pub fn last(&self) -> u64 {
        self.address.saturating_add(u64::from(self.bytes).max(1) - 1)
    }
}
