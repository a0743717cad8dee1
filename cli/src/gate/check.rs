//! One case from its job to its result: run, certify, compare, accept.
//!
//! Takes [`Checked`]'s ingredients, gives it; files are written only where a baseline was asked for. Errors are results
//! too, so that one bad case does not hide the others.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, anyhow, bail};

use super::compare::Comparison;
use super::estimated::{self, Doubt};
use super::key::PathMap;
use super::limits::Limits;
use super::metric::Metric;
use super::runner::{self, Addresses, Inputs, Job};
use super::summary::Summary;
use super::twice::{self, Runs};
use super::verdict::{Outcome, Verdict};
use super::{baseline, source};
use crate::profile::{Profile, unseen};
use crate::sample::{Measured, file};

/// Where a case's numbers come from.
#[derive(Clone, Debug)]
pub enum Origin {
    Run(Job),
    /// A profile made before.
    Profile(PathBuf),
}

/// What to do with one case.
#[derive(Clone, Debug)]
pub struct Case {
    pub name: String,
    pub origin: Origin,
    pub before: Before,
    pub limits: Limits,
}

/// What a case's numbers are compared with.
#[derive(Clone, Debug)]
pub enum Before {
    /// Nothing: runs are only certified.
    Nothing,
    /// Nothing: numbers are held to their ceilings only.
    Ceilings,
    Baseline(PathBuf),
    /// Another revision, measured just as the case is; or why it could not be.
    Revision {
        name: String,
        measured: Result<Box<Summary>, String>,
    },
}

impl Before {
    /// For people.
    #[must_use]
    pub fn name(&self) -> Option<PathBuf> {
        match self {
            Before::Nothing | Before::Ceilings => None,
            Before::Baseline(path) => Some(path.clone()),
            Before::Revision { name, .. } => Some(name.into()),
        }
    }
}

/// What to do with the baselines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Compare,
    /// Compare, then make the baseline what was measured.
    Accept,
    /// Make the baseline what was measured.
    Save,
}

/// What to do with all cases.
#[derive(Clone, Debug)]
pub struct Plan {
    pub mode: Mode,
    pub twice: bool,
    pub paths: PathMap,
    /// Cases at a time.
    pub jobs: usize,
    /// Keep the profiles, to show them.
    pub keep: bool,
}

/// How a case ended.
#[derive(Debug)]
pub enum Ending {
    Compared(Box<Compared>),
    /// A baseline was made without looking at the old one.
    Saved(Box<Summary>),
    /// Runs agree to the bit; there is nothing to compare with.
    Certified,
    /// Runs do not agree.
    Unlike(twice::Unlike),
    /// It could not run, or could not be compared.
    Error(anyhow::Error),
}

#[derive(Debug)]
pub struct Compared {
    pub comparison: Comparison,
    pub verdict: Verdict,
    /// The baseline was rewritten.
    pub accepted: bool,
    /// There is a baseline, which could be.
    pub acceptable: bool,
}

/// A case and how it ended.
#[derive(Debug)]
pub struct Checked {
    pub name: String,
    /// The baseline's file, or the revision.
    pub baseline: Option<PathBuf>,
    /// Runs were proved to agree.
    pub certified: bool,
    /// Of the run, if the plan keeps it.
    pub profile: Option<Box<Profile>>,
    /// Accesses of the run that are not in its numbers, a sentence each.
    pub unseen: Vec<String>,
    pub ending: Ending,
}

/// What the exit code says, the least serious first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    Fine,
    /// Better than the baseline, or not the same functions.
    Stale,
    Regression,
    CouldNotRun,
}

impl Checked {
    /// What was measured, if it was.
    #[must_use]
    pub fn summary(&self) -> Option<&Summary> {
        match &self.ending {
            Ending::Compared(compared) => Some(&compared.comparison.whole[1]),
            Ending::Saved(summary) => Some(summary),
            Ending::Certified | Ending::Unlike(_) | Ending::Error(_) => None,
        }
    }

    #[must_use]
    pub fn severity(&self) -> Severity {
        match &self.ending {
            Ending::Saved(_) | Ending::Certified => Severity::Fine,
            Ending::Unlike(_) => Severity::Regression,
            Ending::Error(_) => Severity::CouldNotRun,
            Ending::Compared(compared) if compared.accepted && !compared.verdict.is_above() => Severity::Fine,
            Ending::Compared(compared) => match compared.verdict.outcome() {
                Outcome::Pass => Severity::Fine,
                Outcome::Stale => Severity::Stale,
                Outcome::Fail => Severity::Regression,
            },
        }
    }
}

/// Checks all cases, some at a time; results are in the order of the cases.
#[must_use]
pub fn all(cases: &[Case], plan: &Plan) -> Vec<Checked> {
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<Checked>>> = cases.iter().map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for _ in 0..plan.jobs.clamp(1, cases.len().max(1)) {
            scope.spawn(|| {
                while let Some((case, result)) = {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    cases.get(i).zip(results.get(i))
                } {
                    *result.lock().expect("no other thread has this one") = Some(one(case, plan));
                }
            });
        }
    });
    let taken = |m: Mutex<Option<Checked>>| m.into_inner().ok().flatten();
    results.into_iter().map(|m| taken(m).expect("every case was checked")).collect()
}

fn one(case: &Case, plan: &Plan) -> Checked {
    let (mut certified, mut profile, mut unseen) = (false, None, Vec::new());
    let ending = measure(case, plan, &mut certified).and_then(|measured| match measured {
        Ok(run) => {
            if plan.keep && run.profile.is_none() {
                bail!("--html needs a profile, and this is the estimates of a sample");
            }
            profile = run.profile.filter(|_| plan.keep);
            unseen = run.unseen;
            conclude(case, plan, run.summary, run.doubt.as_ref())
        }
        Err(unlike) => Ok(Ending::Unlike(unlike)),
    });
    Checked {
        name: case.name.clone(),
        baseline: case.before.name(),
        certified,
        profile,
        unseen,
        ending: ending.unwrap_or_else(Ending::Error),
    }
}

/// Runs the case, more than once if a certificate is wanted.
fn measure(case: &Case, plan: &Plan, certified: &mut bool) -> anyhow::Result<Result<Run, twice::Unlike>> {
    let job = match &case.origin {
        Origin::Run(job) => job,
        Origin::Profile(path) => {
            let measured = file::read(path)?;
            runner::check_complete(measured.profile())?;
            return Ok(Ok(Run::from_measured(measured, &plan.paths)));
        }
    };
    let inputs = Inputs::before(job)?;
    let first = runner::measure(job, Addresses::Fixed)?;
    if plan.twice {
        let first = first.exact().ok_or_else(runner::not_exact)?;
        let second = runner::run(job, Addresses::Fixed)?;
        let elsewhere = runner::run(job, Addresses::Random)?;
        let runs = Runs { first, second: &second, elsewhere: &elsewhere };
        if let Some(unlike) = twice::difference(&runs, &plan.paths) {
            return Ok(Err(unlike));
        }
        *certified = true;
    }
    Ok(Ok(Run::with(first, inputs, &plan.paths)))
}

/// The exact numbers of one run, as they are compared.
///
/// # Errors
/// As [`runner::run`].
pub fn summary(job: &Job, paths: &PathMap) -> anyhow::Result<Summary> {
    let inputs = Inputs::before(job)?;
    let measured = runner::measure(job, Addresses::Fixed)?;
    measured.exact().ok_or_else(runner::not_exact)?;
    Ok(Run::with(measured, inputs, paths).summary)
}

/// A run to be checked.
struct Run {
    summary: Summary,
    /// What it accessed and is not in its numbers.
    unseen: Vec<String>,
    /// How far off its costs may be; nothing if they are exact.
    doubt: Option<Doubt>,
    /// If they are.
    profile: Option<Box<Profile>>,
}

impl Run {
    fn with(measured: Measured, inputs: Inputs, paths: &PathMap) -> Self {
        let mut run = Run::from_measured(measured, paths);
        run.summary.provenance.inputs = Some(inputs.after(paths)).filter(|inputs| !inputs.is_empty());
        run
    }

    fn from_measured(measured: Measured, paths: &PathMap) -> Self {
        let unseen = unseen::sentences(&measured.profile().coverage);
        match measured {
            Measured::Exact(profile) => {
                Run { summary: Summary::from_profile(&profile, paths), unseen, doubt: None, profile: Some(profile) }
            }
            Measured::Estimated(estimates) => {
                let (summary, doubt) = Doubt::from_estimates(&estimates, paths);
                Run { summary, unseen, doubt: Some(doubt), profile: None }
            }
        }
    }
}

/// What is compared, if it may be; of estimates with the limits that are wider than what they may be off by.
fn judged(comparison: &Comparison, doubt: Option<&Doubt>, limits: &Limits) -> anyhow::Result<Verdict> {
    let Some(doubt) = doubt else { return Ok(Verdict::judge(comparison, limits)) };
    let held = estimated::held(comparison, doubt, limits)?;
    // Why costs changed is in depths, which estimates do not have.
    Ok(Verdict { notes: held.notes, causes: Vec::new(), ..Verdict::judge(comparison, &held.limits) })
}

fn conclude(case: &Case, plan: &Plan, after: Summary, doubt: Option<&Doubt>) -> anyhow::Result<Ending> {
    let path = match &case.before {
        Before::Nothing => return Ok(Ending::Certified),
        Before::Ceilings => {
            let ceilings = case.limits.ceilings.clone();
            return compared(&after, &after, doubt, &Limits { ceilings, ..Limits::none() }, Then::Nothing);
        }
        Before::Revision { name, measured } => {
            let before = measured.as_ref().map_err(|why| anyhow!("{name} could not be measured: {why}"))?;
            comparable(name, before, &after)?;
            return compared(before, &after, doubt, &case.limits, Then::Nothing);
        }
        Before::Baseline(path) => path,
    };
    if plan.mode != Mode::Compare && doubt.is_some() {
        bail!("a baseline has exact numbers, and these are the estimates of a sample; run it without --sample");
    }
    if plan.mode != Mode::Compare && after.total.of(Metric::ACCESSES) == 0 {
        bail!("the run accessed no memory, so there is nothing to keep as a baseline; check the command and --roi");
    }
    if plan.mode == Mode::Save || (plan.mode == Mode::Accept && !path.exists()) {
        save(path, &after, &case.limits)?;
        return Ok(Ending::Saved(Box::new(after)));
    }
    if !path.exists() {
        bail!("there is no baseline {}\n  make it with --accept, and commit it", path.display());
    }
    let usable = source::read_baseline(path).and_then(|before| {
        let advice = "\n  if the new conditions are intended, make the baseline again with --accept";
        comparable(&path.display().to_string(), &before, &after).map_err(|e| anyhow!("{e}{advice}"))?;
        Ok(before)
    });
    let before = match usable {
        Ok(before) => before,
        // What cannot be compared can be replaced, if that is what was asked for.
        Err(_) if plan.mode == Mode::Accept => {
            save(path, &after, &case.limits)?;
            return Ok(Ending::Saved(Box::new(after)));
        }
        Err(error) => return Err(error),
    };
    let then = if plan.mode == Mode::Accept { Then::Save(path) } else { Then::Advise };
    compared(&before, &after, doubt, &case.limits, then)
}

/// What becomes of the baseline after a comparison.
enum Then<'p> {
    /// There is none.
    Nothing,
    /// It stays, and could be made anew.
    Advise,
    Save(&'p Path),
}

fn compared(
    before: &Summary,
    after: &Summary,
    doubt: Option<&Doubt>,
    limits: &Limits,
    then: Then<'_>,
) -> anyhow::Result<Ending> {
    let comparison = Comparison::between(before, after);
    let verdict = judged(&comparison, doubt, limits)?;
    if let Then::Save(path) = then {
        save(path, after, limits)?;
    }
    let (accepted, acceptable) = (matches!(then, Then::Save(_)), !matches!(then, Then::Nothing));
    Ok(Ending::Compared(Box::new(Compared { comparison, verdict, accepted, acceptable })))
}

/// # Errors
/// Every condition that differs, with what to do.
fn comparable(name: &str, before: &Summary, after: &Summary) -> anyhow::Result<()> {
    let differences = before.provenance.differences(&after.provenance);
    if differences.is_empty() {
        return Ok(());
    }
    let mut message = format!("{name} was made under other conditions and is not compared");
    for d in differences {
        let text = |s: &str| if s.is_empty() { "none".to_owned() } else { s.to_owned() };
        let (before, after) = (text(&d.before), text(&d.after));
        message.push_str(&format!("\n  {}: {before} before, {after} now; {}", d.name(), d.advice()));
    }
    bail!(message)
}

/// Whole or not at all; the same text is not written again.
fn save(path: &Path, summary: &Summary, limits: &Limits) -> anyhow::Result<()> {
    let text = baseline::to_text(&summary.with_numbers(&limits.limited(|_| true)));
    if fs::read(path).is_ok_and(|old| old == text.as_bytes()) {
        return Ok(());
    }
    let cannot = || format!("cannot write baseline {}", path.display());
    let directory = path.parent().filter(|d| !d.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(directory).with_context(cannot)?;
    let mut file = tempfile::NamedTempFile::new_in(directory).with_context(cannot)?;
    std::io::Write::write_all(&mut file, text.as_bytes()).with_context(cannot)?;
    let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    file.as_file().set_permissions(permissions).with_context(cannot)?;
    file.persist(path).map_err(|e| e.error).with_context(cannot)?;
    Ok(())
}
