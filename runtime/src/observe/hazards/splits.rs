//! Accesses that cross a border: of lines of 64 bytes, and of pages of 4 KiB.

use super::touch::{Hazard, Touch};

/// An access of two lines, which takes the first cache twice.
#[derive(Default)]
pub struct SplitLines;

/// An access of two pages, which also takes two translations.
#[derive(Default)]
pub struct SplitPages;

impl Hazard for SplitLines {
    const NAME: &'static str = "split_lines";

    #[inline]
    fn is_one(&mut self, touch: Touch) -> bool {
        touch.addr >> 6 != touch.last() >> 6
    }
}

impl Hazard for SplitPages {
    const NAME: &'static str = "split_pages";

    #[inline]
    fn is_one(&mut self, touch: Touch) -> bool {
        touch.addr >> 12 != touch.last() >> 12
    }
}
