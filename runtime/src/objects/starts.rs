//! Where the block around an address begins.
//!
//! Takes blocks as they begin and end, those inside others too; gives the first address of the innermost one. Of a
//! block that others were laid into, what lies behind these is not known any more.

use std::collections::BTreeMap;

/// First addresses of live blocks, with their bytes.
#[derive(Default)]
pub struct Starts {
    live: BTreeMap<u64, u64>,
}

impl Starts {
    /// A block begins, in the place of whatever was there.
    pub fn begin(&mut self, address: u64, len: u64) {
        self.end(address, len);
        if len > 0 {
            self.live.insert(address, len);
        }
    }

    /// What begins in a range ends.
    pub fn end(&mut self, address: u64, len: u64) {
        let end = address.saturating_add(len);
        while let Some((&start, _)) = self.live.range(address..end).next() {
            self.live.remove(&start);
        }
    }

    /// Where the block around an address begins.
    #[must_use]
    pub fn start_of(&self, address: u64) -> Option<u64> {
        let (&start, &len) = self.live.range(..=address).next_back()?;
        (address - start < len).then_some(start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_found_by_any_of_its_bytes() {
        let mut starts = Starts::default();
        starts.begin(100, 50);
        starts.begin(120, 8);
        assert_eq!(
            [99, 100, 119, 120, 127].map(|address| starts.start_of(address)),
            [None, Some(100), Some(100), Some(120), Some(120)]
        );
        assert_eq!(starts.start_of(128), None, "the inner one is before it");
        starts.end(100, 50);
        assert_eq!([100, 120].map(|address| starts.start_of(address)), [None, None]);
    }
}
