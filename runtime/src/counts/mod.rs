//! What is counted, and where: per (calling context, site) a cell.
//!
//! Takes depths and lengths, gives histograms and prices. Knows nothing of who finds them.
//!
//! The table of metrics is [`cell::CellCounts`], with what it is made of: each number is declared there once, in
//! `counted!`, which adds it up. It is the same in a run, in a profile and in a report; only what holds amounts by
//! depth is another type in each.

pub mod caches;
pub mod cell;
pub mod depths;
pub mod keys;
pub mod least;
pub mod lines;
pub mod many;
pub mod miss_curve;
pub mod pairs;
pub mod row;
pub mod sampled;

/// What adds up, perhaps with what another part of the program holds in another form.
pub trait Merge<Other: ?Sized = Self> {
    /// Adds the counts of `other`.
    fn merge(&mut self, other: &Other);
}

/// Declares numbers that are added up one by one.
macro_rules! counted {
    ($(#[$about:meta])* pub struct $name:ident $(<$held:ident = $usual:ty>)? {
        $($(#[$what:meta])* pub $field:ident: $type:ty,)*
    }) => {
        $(#[$about])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub struct $name $(<$held = $usual>)? {
            $($(#[$what])* pub $field: $type,)*
        }

        $crate::counts::counted!(@merge $name $($held)?, $($field)*);
    };
    (@merge $name:ident, $($field:ident)*) => {
        impl $name {
            /// Adds the counts of `other`.
            pub fn merge(&mut self, other: &Self) {
                $crate::counts::Merge::merge(self, other);
            }
        }

        impl $crate::counts::Merge for $name {
            fn merge(&mut self, other: &Self) {
                $($crate::counts::Merge::merge(&mut self.$field, &other.$field);)*
            }
        }
    };
    (@merge $name:ident $held:ident, $($field:ident)*) => {
        impl<$held, Other> $crate::counts::Merge<$name<Other>> for $name<$held>
        where
            $held: $crate::counts::Merge<Other> + Default,
        {
            fn merge(&mut self, other: &$name<Other>) {
                $($crate::counts::Merge::merge(&mut self.$field, &other.$field);)*
            }
        }
    };
}
pub(crate) use counted;

impl Merge for u64 {
    fn merge(&mut self, other: &Self) {
        *self += other;
    }
}

impl Merge for u128 {
    fn merge(&mut self, other: &Self) {
        *self += other;
    }
}

/// What not every cell has.
impl<T: Merge<Other> + Default, Other> Merge<Option<Box<Other>>> for Option<Box<T>> {
    fn merge(&mut self, other: &Option<Box<Other>>) {
        if let Some(other) = other {
            self.get_or_insert_default().merge(other);
        }
    }
}

/// A count per size, level or capacity, which all cells have alike that have any.
impl<T: Merge<Other> + Default, Other> Merge<Option<Box<[Other]>>> for Option<Box<[T]>> {
    fn merge(&mut self, other: &Option<Box<[Other]>>) {
        let Some(other) = other else { return };
        let mine = self.get_or_insert_with(|| other.iter().map(|_| T::default()).collect());
        mine.iter_mut().zip(other).for_each(|(mine, other)| mine.merge(other));
    }
}
