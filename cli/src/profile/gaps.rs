//! What a profile does not count of the run: the one place that decides whether it is complete.
//!
//! Every reader asks here: reports, the page, estimates, the gate, and `run` when nobody reads its report.

use super::{
    Profile,
    model::{Meta, Outcome},
};
use crate::shared::human;

impl Profile {
    /// Why the numbers are not those of the whole run, a sentence each; none = the profile is complete.
    #[must_use]
    pub fn gaps(&self) -> Vec<String> {
        let ending = match self.meta.outcome {
            Outcome::Exited(_) => None,
            Outcome::Signaled(signal) => {
                Some(format!("killed by signal {signal}{}; the numbers are those up to then", signal_name(signal)))
            }
            Outcome::Unknown => {
                Some("how the program ended was not recorded".to_owned()).filter(|_| self.meta.incomplete.is_none())
            }
        };
        let lost = Some(self.coverage.lost_events).filter(|lost| *lost > 0);
        let lost = lost.map(|lost| format!("lost events: {}; all numbers are too small", human::grouped(lost.into())));
        ending.into_iter().chain(self.meta.incomplete.clone()).chain(lost).collect()
    }

    /// All of [`Profile::gaps`] in one line; `None` = the profile is complete.
    #[must_use]
    pub fn incomplete(&self) -> Option<String> {
        Some(self.gaps().join("; ")).filter(|gaps| !gaps.is_empty())
    }
}

impl Meta {
    /// Adds a reason why something is missing, if there is one.
    pub fn misses(&mut self, why: Option<String>) {
        let reasons: Vec<String> = self.incomplete.take().into_iter().chain(why).collect();
        self.incomplete = Some(reasons.join("; ")).filter(|_| !reasons.is_empty());
    }
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        1 => " (SIGHUP)",
        2 => " (SIGINT)",
        3 => " (SIGQUIT)",
        4 => " (SIGILL)",
        5 => " (SIGTRAP)",
        6 => " (SIGABRT)",
        7 => " (SIGBUS)",
        8 => " (SIGFPE)",
        9 => " (SIGKILL)",
        11 => " (SIGSEGV)",
        13 => " (SIGPIPE)",
        14 => " (SIGALRM)",
        15 => " (SIGTERM)",
        24 => " (SIGXCPU)",
        31 => " (SIGSYS)",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_gap_makes_a_profile_incomplete() {
        let whole = crate::profile::sample::small();
        assert_eq!((whole.gaps(), whole.incomplete()), (Vec::new(), None));
        let with = |change: fn(&mut Profile)| {
            let mut profile = whole.clone();
            change(&mut profile);
            profile.incomplete().expect("a gap")
        };
        assert!(with(|p| p.meta.outcome = Outcome::Signaled(9)).starts_with("killed by signal 9 (SIGKILL)"));
        assert!(with(|p| p.meta.outcome = Outcome::Unknown).contains("not recorded"));
        assert_eq!(with(|p| p.meta.incomplete = Some("cut off".into())), "cut off");
        assert!(with(|p| p.coverage.lost_events = 1200).starts_with("lost events: 1,200;"));
        let all = |p: &mut Profile| {
            p.meta.outcome = Outcome::Signaled(11);
            p.meta.incomplete = Some("cut off".into());
            p.coverage.lost_events = 1;
        };
        assert_eq!(with(all).split("; ").count(), 5);
    }
}
