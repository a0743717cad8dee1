//! `dmdprof check`: the gate. Raw arguments become cases and a plan; `gate::check` does the work; results go wherever
//! they were asked for.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};

use super::cases::CasesArgs;
use super::estimate::with_name;
use super::print::{ToArgs, WidthArgs};
use crate::gate::ceilings::{Ceiling, Ceilings, Stated};
use crate::gate::check::{self, Before, Case, Ending, Mode, Origin, Plan};
use crate::gate::config;
use crate::gate::history::{Entry, store::HistoryStore};
use crate::gate::key::{PathMap, PrefixRule};
use crate::gate::limits::{ByMetric, Limit, Limits};
use crate::gate::metric::Metric;
use crate::gate::output::check::Results;
use crate::gate::output::machine;
use crate::gate::project::Project;
use crate::gate::revision::{NotBuilt, Revisions};
use crate::gate::runner::Job;
use crate::gate::trust;
use crate::git::Git;
use crate::profile::unseen;
use crate::shared::output_file;
use crate::shared::printable;
use crate::shared::signals;
use crate::view::matched::Against;
use crate::view::{Content, page_file};

/// Compare runs with baselines, and fail if they move more data
///
/// Runs every [[case]] of dmdprof.toml, or the command after `--`. Numbers are exact, so by default not a unit of
/// ByteDMD may change: not in the program, and not in any function. Exit code: 0 fine, 1 could not run or compare, 2
/// usage, 3 worse.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct CheckArgs {
    /// Compare with this baseline: a name (dmdprof/NAME.toml) or a path [default: the case's or the program's name]
    #[arg(long, value_name = "NAME", conflicts_with = "save_baseline")]
    pub baseline: Option<String>,

    /// Make this baseline from the run, whatever was there before
    #[arg(long, value_name = "NAME", conflicts_with = "accept")]
    pub save_baseline: Option<String>,

    /// Compare, then make the baselines what was measured
    #[arg(long)]
    pub accept: bool,

    /// Compare with this revision instead of baselines: it is built in a checkout of its own with `build` of
    /// dmdprof.toml and measured in the same way, and what is at hand is built too
    #[arg(long, value_name = "REV", conflicts_with_all = ["baseline", "save_baseline", "accept", "profile", "ceilings_only"])]
    pub against: Option<String>,

    /// Fail also if something got better, came, went or was renamed: no baseline is ever out of date
    #[arg(long)]
    pub strict: bool,

    /// Run each case again, and once at random addresses, and prove that the profiles are the same to the bit
    #[arg(long, conflicts_with = "profile")]
    pub twice: bool,

    /// Check this profile, or these estimates of a sample, instead of running something. Estimates are held only to
    /// limits that are wider than what they may be off by
    #[arg(long, value_name = "FILE", conflicts_with_all = ["command", "case"])]
    pub profile: Option<PathBuf>,

    /// Cases to run at a time
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: u16,

    /// A limit of the program and every function, as in cost=1% or 'Q(32KiB)=4KiB'; may be repeated
    #[arg(long = "limit", value_name = "METRIC=LIMIT", value_parser = parse_limit)]
    pub limits: Vec<(Metric, Limit)>,

    /// A bound of the program's number itself, whatever the baseline says: 'cost<=2e8', 'fills(32KiB)<=40MiB'; may be
    /// repeated
    #[arg(long = "ceiling", value_name = "METRIC<=NUMBER")]
    pub ceilings: Vec<Stated>,

    /// The same, and beyond it is a warning only
    #[arg(long = "soft-ceiling", value_name = "METRIC<=NUMBER")]
    pub soft_ceilings: Vec<Stated>,

    /// Compare with nothing: hold numbers to their ceilings only
    #[arg(long, conflicts_with_all = ["baseline", "save_baseline", "accept", "strict"])]
    pub ceilings_only: bool,

    /// Add the numbers of cases that do not fail to this history: a file (.jsonl), a directory, branch:NAME or
    /// notes:NAME (see `dmdprof history`) [default: that of dmdprof.toml]
    #[arg(long, value_name = "PLACE")]
    pub history: Option<String>,

    /// Read source paths that begin with OLD as if they began with NEW; may be repeated, the last match wins
    #[arg(long, value_name = "OLD=NEW")]
    pub path_prefix_map: Vec<PrefixRule>,

    /// How to print the result
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub format: Format,

    #[command(flatten)]
    pub width: WidthArgs,

    #[command(flatten)]
    pub to: ToArgs,

    /// Also write Markdown to this file
    #[arg(long, value_name = "FILE", help_heading = "CI output")]
    pub markdown: Option<PathBuf>,

    /// Also write JUnit XML to this file
    #[arg(long, value_name = "FILE", help_heading = "CI output")]
    pub junit: Option<PathBuf>,

    /// Also write customSmallerIsBetter of github-action-benchmark to this file
    #[arg(long, value_name = "FILE", help_heading = "CI output")]
    pub benchmark_json: Option<PathBuf>,

    /// Also write the JSON of Bencher to this file
    #[arg(long, value_name = "FILE", help_heading = "CI output")]
    pub bencher_json: Option<PathBuf>,

    /// Also write a page for the browser that compares the run with its baseline (see `dmdprof view`); of several
    /// cases: FILE-CASE.html
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    #[command(flatten)]
    pub cases: CasesArgs,
}

const EXAMPLES: &str = "\
Examples:
  dmdprof check --save-baseline small -- ./prog 10     write dmdprof/small.toml; commit it
  dmdprof check --baseline small -- ./prog 10          3 if anything costs more than in the baseline
  dmdprof check --baseline small --accept -- ./prog 10 the new numbers are intended
  dmdprof check --twice -- ./prog 10                   do two runs give the same profile?
  dmdprof check --jobs 4 --strict                      all cases of dmdprof.toml
  dmdprof check --profile dmdprof.data --baseline small
  dmdprof check --history branch:numbers               keep the numbers of this commit on a branch
  dmdprof check --baseline small --cycles -- prog.c    cycles too, which a core takes for the program without hooks
  dmdprof check --against main                         all cases, without baselines: main is built and measured
  dmdprof check --ceilings-only --ceiling 'cost<=2e8' -- ./prog 10
  dmdprof check --baseline small --limit cost=10% --sample -- ./prog 10
                                                       estimates of a long run, held to a wide limit

dmdprof.toml:
  [limits]
  cost = \"0%\"                        # of the program and of every function
  \"Q(32KiB)\" = \"1%\"                  # what a memory of 32 KiB fetches
  \"traffic(1MiB)\" = \"5% or 4KiB\"     # lines of 64 bytes fetched and written back (there by default)
  [limits.functions]
  \"parse_*\" = { cost = \"2%\" }        # the last match wins
  [ceilings]                         # of the number itself: soft ones warn
  peak_live = { soft = \"800 MiB\", hard = \"1 GiB\" }
  [[case]]
  name = \"small\"
  command = [\"./prog\", \"10\"]

On GitHub (GITHUB_ACTIONS=true) failures are also annotated, and Markdown goes to $GITHUB_STEP_SUMMARY.";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    #[default]
    Table,
    /// For programs: exact integers
    Json,
    /// For pull requests: Markdown
    Md,
}

fn parse_limit(text: &str) -> Result<(Metric, Limit), String> {
    let (metric, limit) = text.split_once('=').ok_or("expected METRIC=LIMIT, as in cost=1%")?;
    let metric = metric.trim().parse()?;
    Ok((metric, Limit::from_text(metric, limit)?))
}

/// 2: the command line or the configuration makes no sense.
const USAGE: i32 = 2;

/// Checks and returns the exit code.
///
/// # Errors
/// When results cannot be written.
pub fn command(args: &CheckArgs) -> anyhow::Result<i32> {
    let usage = |error| {
        printable::say(format_args!("{error:#}"));
        Ok(USAGE)
    };
    let (mut cases, plan, project) = match prepare(args) {
        Ok(prepared) => prepared,
        Err(error) => return usage(error),
    };
    if let Some(revision) = &args.against {
        let chosen = match args.cases.trusted(&project) {
            Ok(chosen) => chosen,
            Err(error) => return usage(error),
        };
        against(revision, args, &project, &chosen, &mut cases)?;
    } else if args.cases.command.is_empty()
        && args.profile.is_none()
        && (args.cases.trust || trust::can_ask())
        && let Err(error) = args.cases.trusted(&project)
    {
        return usage(error);
    }
    args.html.as_deref().map_or(Ok(()), page_file::check_output)?;
    let checked = check::all(&cases, &plan);
    let terminal = args.to.terminal();
    let width = args.width.columns(&terminal);
    let results = Results { checked: &checked, strict: args.strict, width, color: terminal.color };
    args.to.write(|mut out| match args.format {
        Format::Table => results.text(&mut out),
        Format::Json => results.json(&mut out),
        Format::Md => out.write_all(results.markdown().as_bytes()),
    })?;
    results.checked.iter().for_each(|case| unseen::warn(&format!("{}: ", case.name), &case.unseen));
    write_files(&results, args, &plan.paths)?;
    on_github(&results, &project.root)?;
    remember(&results, args, &project)?;
    Ok(signals::received().map_or_else(|| results.exit_code(), |signal| 128 + signal))
}

/// Everything that can be wrong with the command line and the configuration.
fn prepare(args: &CheckArgs) -> anyhow::Result<(Vec<Case>, Plan, Project)> {
    let project = Project::read(args.cases.config.as_deref())?;
    let given: ByMetric = args.limits.iter().copied().collect();
    let later = Limits { total: given.clone(), each: given, ceilings: stated(args), ..Limits::none() };
    let mode = match (&args.save_baseline, args.accept) {
        (Some(_), _) => Mode::Save,
        (None, true) => Mode::Accept,
        (None, false) => Mode::Compare,
    };
    let paths = project.paths(&args.path_prefix_map);
    let plan = Plan { mode, twice: args.twice, paths, jobs: args.jobs.into(), keep: args.html.is_some() };
    let workers = crate::shared::processors().div_ceil(plan.jobs);
    let workers: [OsString; 2] = ["--workers".into(), workers.to_string().into()];
    let cases = if args.cases.command.is_empty() && args.profile.is_none() {
        cases_of(args, &project, &later, &workers)?
    } else {
        vec![single(args, &project, later, &workers)?]
    };
    if args.ceilings_only && cases.iter().any(|case| case.limits.ceilings.is_empty()) {
        bail!("--ceilings-only holds nothing without ceilings: write [ceilings] into dmdprof.toml, or give --ceiling");
    }
    Ok((cases, plan, project))
}

/// Ceilings of the command line.
fn stated(args: &CheckArgs) -> Ceilings {
    let mut ceilings = Ceilings::default();
    let hard = |bound| Ceiling { soft: None, hard: Some(bound) };
    let soft = |bound| Ceiling { soft: Some(bound), hard: None };
    let all = args.ceilings.iter().map(|Stated(metric, bound)| (*metric, hard(*bound)));
    for (metric, ceiling) in all.chain(args.soft_ceilings.iter().map(|Stated(metric, bound)| (*metric, soft(*bound)))) {
        ceilings.extend(Ceilings { total: [(metric, ceiling)].into(), rules: Vec::new() });
    }
    ceilings
}

/// The command after `--`, or the profile.
fn single(args: &CheckArgs, project: &Project, later: Limits, workers: &[OsString]) -> anyhow::Result<Case> {
    let given = args.baseline.as_ref().or(args.save_baseline.as_ref());
    let only_certify = args.twice && given.is_none() && !args.accept && !args.ceilings_only;
    let origin = match &args.profile {
        Some(path) => Origin::Profile(path.clone()),
        None => Origin::Run(Job {
            command: args.cases.command.clone(),
            env: BTreeMap::new(),
            dir: project.here.clone(),
            stdin: None,
            inputs: Vec::new(),
            options: [workers, &args.cases.run_options()].concat(),
        }),
    };
    let name = name_of(args)?;
    let before = match (args.ceilings_only, only_certify) {
        (true, _) => Before::Ceilings,
        (false, true) => Before::Nothing,
        (false, false) => Before::Baseline(project.shortened(&project.baseline(&name))),
    };
    let mut limits = project.config.limits.clone();
    limits.extend(later);
    Ok(Case { name, origin, before, limits })
}

/// What the command or the profile is called.
fn name_of(args: &CheckArgs) -> anyhow::Result<String> {
    let program = args.cases.command.first().map(PathBuf::from).or_else(|| args.profile.clone()).unwrap_or_default();
    let stem = program.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let name = args.baseline.as_ref().or(args.save_baseline.as_ref()).cloned().unwrap_or(stem);
    if name.is_empty() {
        bail!("a baseline needs a name; give one with --baseline");
    }
    Ok(name)
}

/// The cases of the configuration.
fn cases_of(args: &CheckArgs, project: &Project, later: &Limits, workers: &[OsString]) -> anyhow::Result<Vec<Case>> {
    let chosen = project.cases(args.cases.case.as_deref())?;
    if args.baseline.is_some() || args.save_baseline.is_some() {
        bail!(
            "--baseline and --save-baseline are about a command; cases have baselines of their names (make them with --accept)"
        );
    }
    if let Some(option) = args.cases.run_options().first() {
        bail!("{} is about a command; write roi, model, liveness or cycles into the [[case]]", option.display());
    }
    let case = |case: &config::Case| {
        let mut limits = project.config.limits.clone();
        limits.extend(case.limits.clone());
        limits.extend(later.clone());
        let before = match args.ceilings_only {
            true => Before::Ceilings,
            false => Before::Baseline(project.shortened(&project.baseline_of(case))),
        };
        let origin = Origin::Run(Project::job(case, &project.home, workers));
        Case { name: case.name.clone(), origin, before, limits }
    };
    Ok(chosen.into_iter().map(case).collect())
}

/// Has cases compared with a revision.
fn against(
    revision: &str,
    args: &CheckArgs,
    project: &Project,
    chosen: &[config::Case],
    cases: &mut [Case],
) -> anyhow::Result<()> {
    let mut revisions = Revisions::new(project, &args.path_prefix_map, args.cases.run_options())?;
    let commit = revisions.git().commit(revision)?;
    let name = format!("{revision} ({})", commit.short());
    for (of, case) in chosen.iter().zip(cases) {
        let measured = match revisions.summary(&commit, of) {
            Ok(Ok(summary)) => Ok(Box::new(summary)),
            Ok(Err(NotBuilt(why))) => bail!("{name} does not build: {why}"),
            // Whoever ends dmdprof has no other case measured.
            Err(error) if signals::received().is_some() => return Err(error),
            Err(error) => Err(format!("{error:#}")),
        };
        case.before = Before::Revision { name: name.clone(), measured };
    }
    revisions.build_here()
}

/// Adds a line per case that does not fail to the history, if there is one.
fn remember(results: &Results<'_>, args: &CheckArgs, project: &Project) -> anyhow::Result<()> {
    let place = match (&args.history, &project.config.history.place) {
        (Some(text), _) => HistoryStore::of_user(text, &project.here),
        (None, Some(text)) => HistoryStore::of_project(text, &project.home)?,
        (None, None) => return Ok(()),
    };
    let git = Git::around(&project.home).ok();
    let commit = git.as_ref().and_then(|git| git.commit("HEAD").ok());
    let own = place.file().and_then(|file| file.canonicalize().ok());
    let dirty = commit.is_some() && git.as_ref().is_some_and(|git| git.is_dirty(own.as_deref()));
    let commit = commit.unwrap_or_default();
    let fine = results.checked.iter().filter(|checked| !results.fails(checked));
    let lines = fine.filter_map(|checked| Some(Entry::line(&checked.name, &commit, dirty, checked.summary()?)));
    let lines = lines.collect::<anyhow::Result<String>>()?;
    if lines.is_empty() { Ok(()) } else { place.append(git.as_ref(), &commit, &lines) }
}

fn write_files(results: &Results<'_>, args: &CheckArgs, paths: &PathMap) -> anyhow::Result<()> {
    let write = |path: &Option<PathBuf>, write: &dyn Fn(&mut Vec<u8>) -> io::Result<()>| -> anyhow::Result<()> {
        let Some(path) = path else { return Ok(()) };
        let mut bytes = Vec::new();
        write(&mut bytes)?;
        output_file::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
    };
    write(&args.markdown, &|out| out.write_all(results.markdown().as_bytes()))?;
    write(&args.junit, &|out| results.junit(out))?;
    write(&args.benchmark_json, &|out| results.smaller_is_better(out))?;
    write(&args.bencher_json, &|out| results.bencher(out))?;
    args.html.as_deref().map_or(Ok(()), |path| write_pages(results, path, paths))
}

/// A page per case that was compared.
fn write_pages(results: &Results<'_>, path: &Path, paths: &PathMap) -> anyhow::Result<()> {
    let several = results.checked.len() > 1;
    for checked in results.checked {
        let (Ending::Compared(compared), Some(profile)) = (&checked.ending, &checked.profile) else { continue };
        let path = if several { with_name(path, &checked.name) } else { path.to_path_buf() };
        let before = checked.baseline.as_deref().map_or_else(String::new, |path| path.display().to_string());
        let names = [before, checked.name.clone()];
        let diff = super::diff::json_of(names.clone(), &compared.comparison, &[])?;
        let against = Some(Against { comparison: &compared.comparison, paths });
        let content = Content { profile: Some(profile), names, diff: Some(diff), against, ..Content::default() };
        page_file::write_page(&path, &content, &page_file::PageArgs::default().options(Some("compare"))?)?;
    }
    Ok(())
}

/// What a job on GitHub shows: annotations in the log, a summary on its page.
fn on_github(results: &Results<'_>, root: &Path) -> anyhow::Result<()> {
    if std::env::var_os("GITHUB_ACTIONS").is_none_or(|v| v != "true") {
        return Ok(());
    }
    let workspace = std::env::var_os("GITHUB_WORKSPACE").map(PathBuf::from);
    let prefix = workspace.and_then(|w| root.strip_prefix(w).ok().map(|p| p.to_string_lossy().into_owned()));
    let prefix = prefix.filter(|p| !p.is_empty()).map_or_else(String::new, |p| format!("{p}/"));
    // Commands are recognised on both streams; standard output stays what --format says.
    machine::annotations(results, &prefix, &mut io::stderr().lock())?;
    if let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|p| !p.is_empty()) {
        let path = PathBuf::from(path);
        let mut file = OpenOptions::new().create(true).append(true).open(&path);
        let written = file.as_mut().map(|f| f.write_all(results.markdown().as_bytes()));
        if !matches!(written, Ok(Ok(()))) {
            eprintln!("dmdprof: warning: cannot write the summary to {}", path.display());
        }
    }
    Ok(())
}
