//! Where the words of a stream were: positions in the timeline that advance by a constant.

/// Old positions of a stream's words: `first + iteration * step`.
#[derive(Clone, Copy, Default)]
pub struct Positions {
    pub first: u64,
    pub step: i64,
}

impl Positions {
    pub fn position_at(self, iteration: usize) -> u64 {
        self.first.wrapping_add_signed(self.step * iteration as i64)
    }
}
