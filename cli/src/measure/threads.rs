//! `--threads`: which threads share a stack, and how they take turns.
//!
//! Takes the options, gives what the analysis needs and what the profile says. Refuses words that are no groups of
//! threads, and options that need a thread by itself.

use std::{ops::RangeInclusive, sync::Arc};

use anyhow::{Context, bail};
use clap::Args;
use dmdprof_runtime::{
    analysis::{
        Measurement,
        shared::{MOST_THREADS, Member, TURN, Together},
    },
    decode::roi::RegionOfInterest,
    oplog::{Shelf, Spool},
};

use super::roi::Roi;
use crate::profile::model::ThreadMode;

/// Which threads share a stack.
#[derive(Args, Clone, Debug)]
pub struct ThreadsArgs {
    /// Which threads share a stack: `private` (none), `shared` (all of a process), or clusters
    ///
    /// `clusters:N` is N at a time, in the order in which they are made; or groups are named, as in clusters:0-3,4-7 or
    /// clusters:main+reader*,worker*.
    ///
    /// Members are numbers, ranges of numbers, or patterns of the function that a thread begins with; `+` joins them.
    /// Threads that no group names share a stack of their own. Needs a temporary file: in $TMPDIR if that is set, else
    /// beside the profile. See docs/threads.md for the order in which threads take turns.
    #[arg(long, value_name = "MODE", default_value = "private", value_parser = parse)]
    pub threads: Threads,

    /// With threads that share a stack: accesses that a thread does before the next one's turn comes
    #[arg(long, value_name = "N", default_value_t = TURN, value_parser = clap::value_parser!(u64).range(1..=1 << 30))]
    pub turn: u64,

    /// With threads that share a stack: also keep the stack of each thread alone, for levels of memory that a core has
    /// for itself (see `dmdprof roofline`)
    #[arg(long)]
    pub levels: bool,
}

/// A value of `--threads`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Threads {
    Private,
    Shared,
    Clusters { text: String, groups: Vec<Vec<Named>> },
}

/// Members of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Named {
    Numbers(RangeInclusive<u32>),
    Pattern(String),
}

/// # Errors
/// What is wrong with it.
pub fn parse(text: &str) -> Result<Threads, String> {
    const EXPECTED: &str =
        "expected private, shared, clusters:N, or groups as in clusters:0-3,4-7 or clusters:main,worker*";
    let groups = match text.split_once(':') {
        None if text == "private" => return Ok(Threads::Private),
        None if text == "shared" => return Ok(Threads::Shared),
        Some(("clusters", groups)) if !groups.is_empty() => groups,
        _ => return Err(EXPECTED.into()),
    };
    let most = MOST_THREADS as u32;
    let groups = match groups.parse::<u32>() {
        Ok(0) => return Err("a cluster of no threads shares nothing".into()),
        Ok(size) => {
            (0..most).step_by(size as usize).map(|first| vec![Named::Numbers(first..=first + (size - 1))]).collect()
        }
        Err(_) => {
            let groups = split_outside(groups, ',').into_iter();
            let groups = groups.map(|group| split_outside(group, '+').into_iter().map(member).collect());
            groups.collect::<Result<Vec<Vec<Named>>, String>>()?
        }
    };
    Ok(Threads::Clusters { text: text.to_owned(), groups })
}

/// The parts between separators that are in no brackets: names have those.
fn split_outside(text: &str, separator: char) -> Vec<&str> {
    let mut depth = 0i32;
    let is_end = |c: char| {
        depth += i32::from(matches!(c, '(' | '<' | '{' | '[')) - i32::from(matches!(c, ')' | '>' | '}' | ']'));
        c == separator && depth <= 0
    };
    text.split(is_end).collect()
}

fn member(text: &str) -> Result<Named, String> {
    let number = |text: &str| text.parse::<u32>().ok();
    if text.is_empty() {
        return Err("a cluster has a member without a name; write as in clusters:0-3,4-7".into());
    }
    if let Some((first, last)) = text.split_once('-').and_then(|(a, b)| Some((number(a)?, number(b)?))) {
        return if first <= last {
            Ok(Named::Numbers(first..=last))
        } else {
            Err(format!("{text}: the first number of a range must be the smaller one"))
        };
    }
    Ok(number(text).map_or_else(|| Named::Pattern(text.to_owned()), |n| Named::Numbers(n..=n)))
}

impl ThreadsArgs {
    /// Whether any threads may share a stack.
    #[must_use]
    pub fn are_together(&self) -> bool {
        self.threads != Threads::Private
    }

    /// What the analysis needs to know; `sharing` is bytes of a line, if who shares it is wanted; `spool` makes the
    /// temporary file.
    ///
    /// # Errors
    /// A bad pattern, or no place for the file.
    pub fn together(
        &self,
        sharing: Option<u32>,
        spool: impl FnOnce() -> anyhow::Result<Arc<Spool>>,
    ) -> anyhow::Result<Option<Arc<Together>>> {
        let clusters = match &self.threads {
            Threads::Private if sharing.is_none() => return Ok(None),
            Threads::Private | Threads::Shared => Vec::new(),
            Threads::Clusters { groups, .. } => {
                let member = |named: &Named| {
                    Ok(match named {
                        Named::Numbers(numbers) => Member::Numbers(numbers.clone()),
                        Named::Pattern(pattern) => {
                            let pattern = Roi::new(pattern)
                                .with_context(|| format!("--threads: {pattern}: not a valid pattern"))?;
                            Member::Named(pattern as Arc<dyn RegionOfInterest>)
                        }
                    })
                };
                let group = |group: &Vec<Named>| group.iter().map(member).collect::<anyhow::Result<Vec<Member>>>();
                groups.iter().map(group).collect::<anyhow::Result<Vec<_>>>()?
            }
        };
        Ok(Some(Arc::new(Together {
            clusters,
            turn: self.turn,
            apart: !self.are_together(),
            sharing,
            alone: self.levels,
            shelf: Arc::new(Shelf::new(spool()?)),
        })))
    }

    /// What the profile says of it.
    #[must_use]
    pub fn mode(&self) -> ThreadMode {
        match &self.threads {
            Threads::Private => ThreadMode::Private,
            Threads::Shared => ThreadMode::Shared { turn: self.turn },
            Threads::Clusters { text, .. } => {
                let members = text.trim_start_matches("clusters:").to_owned();
                ThreadMode::Clusters { members, turn: self.turn }
            }
        }
    }

    /// Whether every group that was written out has a thread.
    ///
    /// # Errors
    /// Which has none.
    pub fn check(&self, measurement: &Measurement) -> anyhow::Result<()> {
        let Threads::Clusters { text, groups } = &self.threads else { return Ok(()) };
        let Some(shared) = &measurement.shared else { return Ok(()) };
        let by_size = text.trim_start_matches("clusters:").parse::<u32>().is_ok();
        let Some(number) = (0..groups.len()).find(|number| !shared.named.contains(number)) else { return Ok(()) };
        if by_size || measurement.cut_short.is_some() {
            return Ok(());
        }
        let group = split_outside(text.trim_start_matches("clusters:"), ',')[number];
        bail!(
            "--threads: cluster {group} names no thread of the run, which had {}; threads are numbered from 0 in the order in \
             which they are made, and named by the functions that they begin with (see: dmdprof run --by-thread)",
            measurement.threads.len()
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(text: &str) -> Vec<Vec<Named>> {
        match parse(text) {
            Ok(Threads::Clusters { groups, .. }) => groups,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn modes_are_read() {
        assert_eq!(parse("private"), Ok(Threads::Private));
        assert_eq!(parse("shared"), Ok(Threads::Shared));
        assert_eq!(groups("clusters:4")[1], [Named::Numbers(4..=7)]);
        assert_eq!(
            groups("clusters:0-1+4,2"),
            [vec![Named::Numbers(0..=1), Named::Numbers(4..=4)], vec![Named::Numbers(2..=2)]]
        );
        assert_eq!(
            groups("clusters:main,f<a,b>*"),
            [vec![Named::Pattern("main".into())], vec![Named::Pattern("f<a,b>*".into())]]
        );
    }

    #[test]
    fn what_is_no_mode_is_refused() {
        for text in ["", "both", "clusters", "clusters:", "clusters:0", "clusters:1,,2", "clusters:3-1", "shared:2"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
