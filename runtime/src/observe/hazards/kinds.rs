//! All kinds of hazards: here each is named once.

use super::{
    splits::{SplitLines, SplitPages},
    stores::{AliasedLoads, BlockedForwards},
    touch::{Hazard, Touch},
};

macro_rules! hazards {
    ($($field:ident: $hazard:ty),+) => {
        /// Their names.
        pub const NAMES: &[&str] = &[$(<$hazard as Hazard>::NAME),+];

        /// All kinds, as they follow one ring.
        #[derive(Default)]
        pub struct Kinds {
            $($field: $hazard),+
        }

        impl Kinds {
            /// Tells which kinds of hazard an access is, by their places in [`NAMES`].
            #[inline]
            pub fn each(&mut self, touch: Touch, mut tell: impl FnMut(usize)) {
                let mut kind = 0..;
                $({
                    let number = kind.next().unwrap_or_default();
                    if self.$field.is_one(touch) {
                        tell(number);
                    }
                })+
            }
        }
    };
}

hazards!(
    split_lines: SplitLines,
    split_pages: SplitPages,
    blocked_forwards: BlockedForwards,
    aliased_loads: AliasedLoads
);
