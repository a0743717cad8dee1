//! Accesses that cross a border: of lines of 64 bytes, and of pages of 4 KiB.

use super::touch::{RecentStores, Touch};

/// An access of two lines, which takes the first cache twice.
pub fn split_line(touch: Touch, _: &RecentStores) -> bool {
    touch.addr >> 6 != touch.last() >> 6
}

/// An access of two pages, which also takes two translations.
pub fn split_page(touch: Touch, _: &RecentStores) -> bool {
    touch.addr >> 12 != touch.last() >> 12
}
