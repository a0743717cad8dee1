//! What the way back tells the way forward: numbers, one record after the other.

use std::io;

/// The first number of an access says with this bit that all its bytes are read next at one time: the rest of it is the
/// distance. Else the rest is how many parts follow.
pub const ALIKE: u64 = 1;

/// Numbers that the way back wrote down, in order.
pub trait Records {
    /// The next one.
    ///
    /// # Errors
    /// When it cannot be read.
    fn next(&mut self) -> io::Result<u64>;
}
