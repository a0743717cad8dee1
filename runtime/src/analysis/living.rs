//! Whose sites of emulated programs may still be named: those of processes that live, or have forked one that does.
//!
//! Takes rings as they begin and end, with how often their processes forked, in any order; gives the rings whose site
//! areas nobody will name any more, each once. A ring with more forks than rings that tell of them never is one.

use std::collections::HashMap;

/// What is known of a ring.
#[derive(Default)]
struct Living {
    parent: Option<u32>,
    /// Rings of processes that it forked.
    children: u32,
    /// Of these, such that nobody names their sites any more.
    over: u32,
    /// How often it forked, once it has ended.
    forks: Option<u32>,
}

/// All rings of a run that have begun and are still needed.
#[derive(Default)]
pub struct LivingRings(HashMap<u32, Living>);

impl LivingRings {
    /// A ring begins, perhaps of a process that another ring's forked.
    pub fn begins(&mut self, ring: u32, parent: Option<u32>) {
        self.0.entry(ring).or_default().parent = parent;
        if let Some(parent) = parent {
            self.0.entry(parent).or_default().children += 1;
        }
    }

    /// A ring has ended; gives rings that nobody names any more.
    pub fn ends(&mut self, ring: u32, forks: u32) -> Vec<u32> {
        self.0.entry(ring).or_default().forks = Some(forks);
        let (mut over, mut next) = (Vec::new(), Some(ring));
        while let Some(ring) = next.take() {
            let Some(Living { parent, children, over: ended, forks: Some(forks) }) = self.0.get(&ring) else { break };
            if (forks, children) == (children, ended) {
                next = *parent;
                over.push(ring);
                self.0.remove(&ring);
                if let Some(parent) = next {
                    self.0.entry(parent).or_default().over += 1;
                }
            }
        }
        over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_alone_is_over_when_it_ends() {
        let mut rings = LivingRings::default();
        rings.begins(4, None);
        assert_eq!(rings.ends(4, 0), [4]);
    }

    #[test]
    fn a_parent_is_over_with_the_last_that_it_forked_whoever_ends_first() {
        let mut rings = LivingRings::default();
        rings.begins(0, None);
        assert!(rings.ends(0, 2).is_empty(), "none of its two children has begun");
        rings.begins(1, Some(0));
        rings.begins(3, Some(1));
        assert_eq!(rings.ends(3, 0), [3]);
        assert_eq!(rings.ends(1, 1), [1]);
        rings.begins(2, Some(0));
        assert_eq!(rings.ends(2, 0), [2, 0]);
    }

    #[test]
    fn a_child_may_be_seen_before_its_parent() {
        let mut rings = LivingRings::default();
        rings.begins(7, Some(6));
        assert_eq!(rings.ends(7, 0), [7]);
        rings.begins(6, None);
        assert_eq!(rings.ends(6, 1), [6]);
    }

    #[test]
    fn who_forked_more_than_is_known_is_never_over() {
        let mut rings = LivingRings::default();
        rings.begins(0, None);
        rings.begins(1, Some(0));
        assert_eq!(rings.ends(1, 0), [1]);
        assert!(rings.ends(0, 2).is_empty(), "a child that wrote nothing may have had children");
        rings.begins(2, None);
        rings.begins(3, Some(2));
        assert_eq!(rings.ends(3, 0), [3]);
        assert!(rings.ends(2, 0).is_empty(), "a thread's ring");
    }
}
