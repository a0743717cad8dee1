//! Types for numbers that lists are indexed by, so that one kind of number cannot stand in the place of another.
//!
//! [`number!`] makes a type of 4 bytes with a place in a list (`new`, `index`); [`niche_number!`] the same such that an
//! `Option` of it has 4 bytes too.

/// A number of a kind of its own.
macro_rules! number {
    ($(#[$attribute:meta])* $name:ident) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[derive(serde::Serialize, serde::Deserialize)]
        #[repr(transparent)]
        pub struct $name(u32);

        impl $name {
            /// The number of a place of a list.
            #[inline(always)]
            #[must_use]
            pub const fn new(index: usize) -> Self {
                Self(index as u32)
            }

            /// The place in a list.
            #[inline(always)]
            #[must_use]
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            /// The number so many places further on.
            #[inline(always)]
            #[must_use]
            pub const fn after(self, places: usize) -> Self {
                Self(self.0 + places as u32)
            }
        }
    };
}

/// A number of a kind of its own that may be missing.
macro_rules! niche_number {
    ($(#[$attribute:meta])* $name:ident) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[derive(serde::Serialize, serde::Deserialize)]
        #[repr(transparent)]
        pub struct $name(std::num::NonZero<u32>);

        impl $name {
            /// The number of a place of a list.
            #[inline(always)]
            #[must_use]
            pub const fn new(index: usize) -> Self {
                Self(std::num::NonZero::new(index as u32 + 1).expect("fewer than 2^32 - 1 of a kind"))
            }

            /// The place in a list.
            #[inline(always)]
            #[must_use]
            pub const fn index(self) -> usize {
                self.0.get() as usize - 1
            }

            /// The number so many places further on.
            #[inline(always)]
            #[must_use]
            pub const fn after(self, places: usize) -> Self {
                Self::new(self.index() + places)
            }
        }
    };
}

pub(crate) use {niche_number, number};
