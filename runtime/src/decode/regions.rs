//! Declared regions that have begun and not ended, whichever of them are of interest.
//!
//! Takes the marks of a run in order; gives how many regions of interest are open, for any choice of these. Refuses to
//! keep more than [`MOST`] marks, which only marks need that do not fit each other.

use serde::{Deserialize, Serialize};

/// Marks that are kept, at most.
const MOST: usize = 1 << 12;

/// The marks that matter: a begin and an end of one name cancel out, and an end with nothing before it does nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Regions {
    /// Name, and whether it begins.
    marks: Vec<(String, bool)>,
    /// There were too many.
    is_full: bool,
}

impl Regions {
    /// A region begins or ends.
    pub fn mark(&mut self, name: &str, begins: bool) {
        match self.marks.last() {
            None if !begins => {}
            Some((last, true)) if !begins && last == name => _ = self.marks.pop(),
            _ if self.marks.len() == MOST => self.is_full = true,
            _ => self.marks.push((name.to_owned(), begins)),
        }
    }

    /// How many regions of interest are open; nothing if that is not known any more.
    #[must_use]
    pub fn open(&self, is_of_interest: impl Fn(&str) -> bool) -> Option<u64> {
        let of_interest = self.marks.iter().filter(|(name, _)| is_of_interest(name));
        let count = |open: u64, (_, begins): &(String, bool)| if *begins { open + 1 } else { open.saturating_sub(1) };
        (!self.is_full).then(|| of_interest.fold(0, count))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_kept_says_what_all_marks_say(
            marks in prop::collection::vec((0usize..3, any::<bool>()), 0..60),
            chosen in prop::array::uniform3(any::<bool>()),
        ) {
            const NAMES: [&str; 3] = ["a", "b", "c"];
            let (mut regions, mut open) = (Regions::default(), 0u64);
            for (name, begins) in marks {
                regions.mark(NAMES[name], begins);
                if chosen[name] {
                    open = if begins { open + 1 } else { open.saturating_sub(1) };
                }
                let is_chosen = |name: &str| chosen[NAMES.iter().position(|one| *one == name).expect("a name")];
                prop_assert_eq!(regions.open(is_chosen), Some(open));
            }
        }
    }

    #[test]
    fn marks_that_never_fit_are_given_up() {
        let mut regions = Regions::default();
        for _ in 0..MOST {
            regions.mark("a", true);
            regions.mark("b", false);
        }
        assert_eq!(regions.open(|_| true), None);
    }
}
