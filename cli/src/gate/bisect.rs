//! Which commit moved a number.
//!
//! Pure: takes what is known of commits in a row (the first and the last are measured), says which one to measure next,
//! and at the end between which two the number moved. As numbers are exact, one measurement per commit decides. The
//! first commit that moved the number the way it moved from end to end is found with the logarithm of the number of
//! commits, whatever else moved it between; with [`Search::all`] every step is found that the ends of a stretch show.
//! Commits that do not build are passed over: a step at one of them is told as a stretch.

use std::ops::Range;

/// What is known of a commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CommitState {
    #[default]
    Unknown,
    Number(u128),
    /// It does not build.
    Broken,
}

/// Between which commits a number moved. Those between the two do not build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub before: usize,
    pub after: usize,
    pub from: u128,
    pub to: u128,
}

/// What is known of all commits.
#[derive(Clone, Debug)]
pub struct Search {
    known: Vec<CommitState>,
    all: bool,
}

impl Search {
    /// Of so many commits, of which the numbers of the first and the last are known.
    #[must_use]
    pub fn new(commits: usize, first: u128, last: u128, all: bool) -> Self {
        let mut known = vec![CommitState::Unknown; commits];
        known[0] = CommitState::Number(first);
        known[commits - 1] = CommitState::Number(last);
        Search { known, all }
    }

    pub fn set_state(&mut self, commit: usize, known: CommitState) {
        self.known[commit] = known;
    }

    #[must_use]
    pub fn commit_states(&self) -> &[CommitState] {
        &self.known
    }

    /// Measured commits with their numbers, in their order.
    fn measured(&self) -> Vec<(usize, u128)> {
        let number = |(at, known): (usize, &CommitState)| match known {
            CommitState::Number(n) => Some((at, *n)),
            CommitState::Unknown | CommitState::Broken => None,
        };
        self.known.iter().enumerate().filter_map(number).collect()
    }

    /// Stretches whose ends differ.
    #[must_use]
    pub fn steps(&self) -> Vec<Step> {
        let measured = self.measured();
        let pairs = measured.windows(2).filter(|pair| pair[0].1 != pair[1].1);
        pairs.map(|p| Step { before: p[0].0, after: p[1].0, from: p[0].1, to: p[1].1 }).collect()
    }

    /// The first stretch over which the number left the first commit's side of it for the last one's.
    #[must_use]
    pub fn first(&self) -> Option<Step> {
        let measured = self.measured();
        let ((_, first), (_, last)) = (*measured.first()?, *measured.last()?);
        let moved = |n: u128| if last > first { n > first } else { n < first };
        let at = measured.iter().position(|(_, n)| moved(*n))?;
        let (before, after) = (measured[at.checked_sub(1)?], measured[at]);
        Some(Step { before: before.0, after: after.0, from: before.1, to: after.1 })
    }

    /// The next commit to measure: in the middle of a stretch, of which nothing between is known.
    #[must_use]
    pub fn next(&self) -> Option<usize> {
        let steps = if self.all { self.steps() } else { self.first().into_iter().collect() };
        steps.into_iter().find_map(|step| self.middle(step.before + 1..step.after))
    }

    /// Measurements that are still needed at least to find the first step.
    #[must_use]
    pub fn left(&self) -> u32 {
        self.first().map_or(0, |step| (step.after - step.before).next_power_of_two().ilog2())
    }

    fn middle(&self, between: Range<usize>) -> Option<usize> {
        let center = (between.start + between.end) / 2;
        let open = between.filter(|at| self.known[*at] == CommitState::Unknown);
        open.min_by_key(|at| at.abs_diff(center))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Searches in what is known by another way; gives the search and the measurements that it took.
    fn search(truth: &[CommitState], all: bool) -> (Search, usize) {
        let number = |known: CommitState| match known {
            CommitState::Number(n) => n,
            _ => panic!("ends are measured"),
        };
        let mut search = Search::new(truth.len(), number(truth[0]), number(truth[truth.len() - 1]), all);
        let mut measured = 2;
        while let Some(at) = search.next() {
            search.set_state(at, truth[at]);
            measured += 1;
        }
        (search, measured)
    }

    #[test]
    fn a_hundred_commits_take_nine() {
        for step in 1..100 {
            let truth: Vec<CommitState> =
                (0..100).map(|at| CommitState::Number(if at < step { 7 } else { 9 })).collect();
            assert_eq!(Search::new(100, 7, 9, false).left(), 7);
            let (search, measured) = search(&truth, false);
            assert_eq!(search.left(), 0);
            assert_eq!(search.first(), Some(Step { before: step - 1, after: step, from: 7, to: 9 }));
            assert!(measured <= 9, "{step}: {measured}");
        }
    }

    #[test]
    fn improvements_on_the_way_do_not_mislead() {
        let numbers = [10u128, 10, 8, 8, 11, 11, 9, 9, 12, 12];
        let truth: Vec<CommitState> = numbers.map(CommitState::Number).to_vec();
        let found = search(&truth, false).0.first().unwrap();
        assert!(found.after == found.before + 1 && found.to > 10 && found.from <= 10, "{found:?}");
        assert_eq!(search(&truth, true).0.steps().len(), 4);
    }

    #[test]
    fn broken_commits_are_passed_over() {
        let mut truth = vec![CommitState::Number(1); 8];
        truth[6] = CommitState::Number(2);
        truth[7] = CommitState::Number(2);
        (truth[4], truth[5]) = (CommitState::Broken, CommitState::Broken);
        let (search, _) = search(&truth, false);
        assert_eq!(search.first(), Some(Step { before: 3, after: 6, from: 1, to: 2 }));
    }

    proptest! {
        /// Whatever happened, what is told is true and cannot be told closer.
        #[test]
        fn steps_are_true(inner in proptest::collection::vec(0u8..5, 0..60), ends in (1u128..4, 1u128..4), all: bool) {
            let number = |n: u8| if n == 0 { CommitState::Broken } else { CommitState::Number(n.into()) };
            let ends = [CommitState::Number(ends.0), CommitState::Number(ends.1)];
            let truth: Vec<CommitState> =
                ends[..1].iter().copied().chain(inner.into_iter().map(number)).chain(ends[1..].iter().copied()).collect();
            let (search, _) = search(&truth, all);
            prop_assert_eq!(search.first().is_some(), ends[0] != ends[1]);
            let steps = if all { search.steps() } else { search.first().into_iter().collect() };
            for step in steps {
                prop_assert_eq!(truth[step.before], CommitState::Number(step.from));
                prop_assert_eq!(truth[step.after], CommitState::Number(step.to));
                prop_assert!(step.from != step.to);
                prop_assert!(truth[step.before + 1..step.after].iter().all(|known| *known == CommitState::Broken));
            }
        }
    }
}
