//! Enums whose values travel as numbers.

/// Declares an enum that others know by number. Whoever has a number asks `from_number` for the variant, and must say
/// what happens with numbers that none has.
macro_rules! numbered {
    (
        $(#[$attribute:meta])*
        pub enum $name:ident: $number:ident { $($(#[$note:meta])* $variant:ident = $value:literal,)* }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr($number)]
        pub enum $name {
            $($(#[$note])* $variant = $value,)*
        }

        impl $name {
            /// All variants, as declared.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The variant of this number.
            #[inline]
            #[must_use]
            pub const fn from_number(number: $number) -> Option<Self> {
                match number {
                    $($value => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }
    };
}
